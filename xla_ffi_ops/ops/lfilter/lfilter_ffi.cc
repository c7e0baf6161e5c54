// SPDX-License-Identifier: Apache-2.0
// The handler of lfilter and sosfilt,
// (s,*),(s,m,*),(s,m,*),(n,*),(s,m,*)->(n,*),(s,m,*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/filter.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using FilterDTypes = DTypes<ffi::F32, ffi::F64, ffi::C64, ffi::C128>;

template <typename T>
HandlerResult Run(const CpuContext& device, const Filter<T>& call,
                  int64_t signals) {
  // A step of a section takes as long as to read and write a step.
  const int64_t bytes = 2 * sizeof(T) * (call.n + 1);
  return ParallelGroups(
      device.pool, signals, FilterSignalsAtOnce<T>(),
      bytes * (1 + call.sections * (call.order + 1)),
      [=](int64_t begin, int64_t end) { RunFilter(call, begin, end); });
}

HandlerResult FilterHandler(CpuContext device, bool reverse,
                            int64_t trailing_rank, Buffer b0, Buffer b,
                            Buffer a, Buffer x, Buffer zi,
                            ffi::Result<Buffer> y, ffi::Result<Buffer> zf) {
  Dim s = kUnknownDim, m = kUnknownDim, n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("b0", b0, FilterDTypes(), {&s});
  checks.Operand("b", b, b0.element_type(), {&s, &m});
  checks.Operand("a", a, b0.element_type(), {&s, &m});
  checks.Operand("x", x, b0.element_type(), {&n});
  checks.Operand("zi", zi, b0.element_type(), {&s, &m});
  checks.Result("y", *y, b0.element_type(), {&n});
  checks.Result("zf", *zf, b0.element_type(), {&s, &m});
  if (!checks.ok()) return checks.error();

  return Dispatch(FilterDTypes(), b0.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const auto operand = [&](const char* name, const Buffer& buffer, Dim steps,
                             int64_t core_rank) -> RecurrenceOperand<T> {
      return {Data<const T>(buffer), steps,
              checks.TrailingSize(buffer, core_rank),
              checks.Map(name, buffer, core_rank),
              checks.TrailingMap(name, buffer, core_rank)};
    };
    const Filter<T> filter{s,
                           m,
                           n,
                           Product(checks.trailing()),
                           reverse,
                           operand("b0", b0, s, 1),
                           operand("b", b, s * m, 2),
                           operand("a", a, s * m, 2),
                           operand("x", x, n, 1),
                           operand("zi", zi, s * m, 2),
                           Data<T>(*y),
                           Data<T>(*zf)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return Run(device, filter, Product(checks.loops()) * filter.columns);
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_lfilter_fwd, FilterHandler,
                           .Attr<bool>("reverse")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // b0
                               .Arg<Buffer>()    // b
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // zi
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>());  // zf

}  // namespace xla_ffi_ops
