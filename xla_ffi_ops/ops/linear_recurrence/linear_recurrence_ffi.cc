// SPDX-License-Identifier: Apache-2.0
// The handlers of linear_recurrence, (n,*),(n,*),(*)?->(n,*), and of its ends,
// (n,*),(n,*)->(*),(*),(*). Beside 16 bits, h0 may be float32.
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_threads.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using RecurrenceDTypes =
    DTypes<ffi::F16, ffi::BF16, ffi::F32, ffi::F64, ffi::C64, ffi::C128>;

enum Bits : int64_t { kA = 1, kB = 2, kH0 = 4 };  // of `present`

template <bool kFromWide, typename Device>
HandlerResult RecurrenceHandler(Device device, bool reverse, bool shifted,
                                int64_t present, int64_t trailing_rank,
                                ffi::RemainingArgs operands,
                                ffi::Result<Buffer> h) {
  using OpDTypes = std::conditional_t<kFromWide, DTypes<ffi::F16, ffi::BF16>,
                                      RecurrenceDTypes>;
  Dim n = kUnknownDim;
  Argument a("a"), b("b"), h0("h0", (present & kH0) != 0);
  Call call;
  call.TrailingRank(trailing_rank);
  call.Present(present, kA | kB, kH0);
  call.Operands(operands, {&a, &b, &h0});
  call.Operand(a, OpDTypes(), {&n});
  call.Operand(b, a.dtype(), {&n});
  if (h0.given) call.Operand(h0, kFromWide ? ffi::F32 : a.dtype(), {});
  call.Result("h", *h, a.dtype(), {&n});
  if (!call.Done()) return call.error();

  return Dispatch(OpDTypes(), a.dtype(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    Recurrence<T> recurrence{n,         Product(call.trailing()),
                             reverse,   shifted,
                             /*a=*/{},  /*b=*/{},
                             /*h0=*/{}, Data<T>(*h)};
    const auto take = [&](auto& operand, const Argument& x) {
      if (!x.given) return;
      operand = {x.data<std::remove_pointer_t<decltype(operand.data)>>(),
                 x.core_rank == 0 ? 1 : n,
                 call.TrailingSize(*x.buffer, x.core_rank), x.map,
                 call.TrailingMap(x.name.c_str(), *x.buffer, x.core_rank)};
    };
    take(recurrence.a, a);
    take(recurrence.b, b);
    if constexpr (kFromWide) {
      take(recurrence.wide_h0, h0);
    } else {
      take(recurrence.h0, h0);
    }
    if (!call.ok()) return HandlerResult(call.error());
    return SplitRecurrence(device, recurrence, Product(call.loops()));
  });
}

template <typename Device>
HandlerResult EndHandler(Device device, bool reverse, bool shifted,
                         int64_t trailing_rank, Buffer a, Buffer b,
                         ffi::Result<Buffer> factor,
                         ffi::Result<Buffer> exponent,
                         ffi::Result<Buffer> term) {
  using EndDTypes = DTypes<ffi::F16, ffi::BF16, ffi::F32, ffi::F64>;
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("a", a, EndDTypes(), {&n});
  checks.Operand("b", b, a.element_type(), {&n});
  checks.Result("factor", *factor, ffi::F64, {});
  checks.Result("exponent", *exponent, ffi::S64, {});
  checks.Result("term", *term, ffi::F64, {});
  if (!checks.ok()) return checks.error();

  return Dispatch(EndDTypes(), a.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const auto operand = [&](const char* name,
                             const Buffer& x) -> RecurrenceOperand<T> {
      return {Data<const T>(x), n, checks.TrailingSize(x, 1),
              checks.Map(name, x, 1), checks.TrailingMap(name, x, 1)};
    };
    const RecurrenceEnds<T> ends{
        {n, Product(checks.trailing()), reverse, shifted, operand("a", a),
         operand("b", b), /*h0=*/{}, /*h=*/nullptr},
        /*in_parts=*/false,
        Data<double>(*factor),
        Data<int64_t>(*exponent),
        Data<double>(*term)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return SplitEnds(device, ends, Product(checks.loops()));
  });
}

}  // namespace

#define XLA_FFI_OPS_DEFINE_RECURRENCE(handler, from_wide)           \
  XLA_FFI_OPS_DEFINE_HANDLER(handler, RecurrenceHandler<from_wide>, \
                             .Attr<bool>("reverse")                 \
                                 .Attr<bool>("shifted")             \
                                 .Attr<int64_t>("present")          \
                                 .Attr<int64_t>("trailing_rank")    \
                                 .RemainingArgs()                   \
                                 .Ret<Buffer>()) /* h */
XLA_FFI_OPS_DEFINE_RECURRENCE(xla_ffi_ops_linear_recurrence_fwd, false);
XLA_FFI_OPS_DEFINE_RECURRENCE(xla_ffi_ops_linear_recurrence_from_fwd, true);

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_linear_recurrence_end_fwd, EndHandler,
                           .Attr<bool>("reverse")
                               .Attr<bool>("shifted")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>()    // factor
                               .Ret<Buffer>()    // exponent
                               .Ret<Buffer>());  // term

}  // namespace xla_ffi_ops
