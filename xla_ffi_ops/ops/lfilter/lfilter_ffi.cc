// SPDX-License-Identifier: Apache-2.0
// The handlers of lfilter and sosfilt,
// (s,*),(s,m,*),(s,m,*),(n,*),(s,m,*)->(s,m,*),(n,*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/filters/filter.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using FilterDTypes = DTypes<ffi::F32, ffi::F64, ffi::C64, ffi::C128>;

// The operands of both handlers, and their dimensions.
struct FilterCall : Call {
  FilterCall(bool reverse, int64_t trailing_rank, Buffer b0, Buffer b, Buffer a,
             Buffer x, Buffer zi)
      : reverse(reverse), b0(b0), b(b), a(a), x(x), zi(zi) {
    TrailingRank(trailing_rank);
    Operand("b0", b0, FilterDTypes(), {&s});
    Operand("b", b, dtype(), {&s, &m});
    Operand("a", a, dtype(), {&s, &m});
    Operand("x", x, dtype(), {&n});
    Operand("zi", zi, dtype(), {&s, &m});
  }
  ffi::DataType dtype() const { return b0.element_type(); }

  template <typename T>
  RecurrenceOperand<T> Of(const char* name, const Buffer& buffer, Dim steps,
                          int64_t core_rank) {
    return {Data<const T>(buffer), steps, TrailingSize(buffer, core_rank),
            Map(name, buffer, core_rank), TrailingMap(name, buffer, core_rank)};
  }
  template <typename T>
  RecurrenceOperand<T> Of(const Argument& x, Dim steps, int64_t core_rank) {
    if (!x.buffer) return {};
    return Of<T>(x.name.c_str(), *x.buffer, steps, core_rank);
  }
  template <typename T>
  FilterOperands<T> All() {
    return {s,
            m,
            n,
            Product(trailing()),
            reverse,
            Of<T>("b0", b0, s, 1),
            Of<T>("b", b, s * m, 2),
            Of<T>("a", a, s * m, 2),
            Of<T>("x", x, n, 1),
            Of<T>("zi", zi, s * m, 2)};
  }

  // Calls make(T), which returns a Filter or FilterGradients, and runs that. A
  // step of a section takes as long as to read and write `streams` numbers.
  template <typename Make>
  HandlerResult Run(const CpuContext& device, int64_t streams, Make make) {
    return Dispatch(FilterDTypes(), dtype(), [&](auto tag) {
      using T = TypeOf<decltype(tag)>;
      const auto filter = make(T());
      if (!ok()) return HandlerResult(error());
      const int64_t bytes = streams * sizeof(T) * (n + 1);
      return ParallelGroups(
          device.pool, Product(loops()) * filter.columns,
          FilterSignalsAtOnce<T>(), bytes * (1 + s * (m + 1)),
          [=](int64_t begin, int64_t end) { RunFilter(filter, begin, end); });
    });
  }

  bool reverse;
  Buffer b0, b, a, x, zi;
  Dim s = kUnknownDim, m = kUnknownDim, n = kUnknownDim;
};

HandlerResult ForwardHandler(CpuContext device, bool reverse,
                             int64_t trailing_rank, Buffer b0, Buffer b,
                             Buffer a, Buffer x, Buffer zi,
                             ffi::Result<Buffer> zf, ffi::Result<Buffer> y) {
  FilterCall call(reverse, trailing_rank, b0, b, a, x, zi);
  call.Result("zf", *zf, call.dtype(), {&call.s, &call.m});
  call.Result("y", *y, call.dtype(), {&call.n});
  if (!call.ok()) return call.error();
  return call.Run(device, 2, [&](auto zero) {
    using T = decltype(zero);
    return Filter<T>{call.All<T>(), Data<T>(*zf), Data<T>(*y)};
  });
}

HandlerResult BackwardHandler(CpuContext device, bool reverse,
                              int64_t trailing_rank, int64_t batch_rank,
                              int64_t wanted, Buffer b0, Buffer b, Buffer a,
                              Buffer x, Buffer zi, ffi::RemainingArgs others,
                              ffi::RemainingRets results) {
  constexpr int64_t kCoefficients = 7;
  const auto result = [wanted](const char* name, int bit) {
    return Argument(name, (wanted >> bit & 1) != 0);
  };
  Argument db0 = result("db0", 0), db = result("db", 1), da = result("da", 2),
           dx = result("dx", 3), dzi = result("dzi", 4);
  Argument y("y", (wanted & kCoefficients) != 0), dzf("dzf"), dy("dy");
  FilterCall call(reverse, trailing_rank, b0, b, a, x, zi);
  Dim &s = call.s, &m = call.m, &n = call.n;
  call.Wanted(wanted, /*present=*/31);
  call.Operands(others, {&y, &dzf, &dy});
  if (y.given) call.Operand(y, call.dtype(), {&n});
  call.Operand(dzf, call.dtype(), {&s, &m});
  call.Operand(dy, call.dtype(), {&n});
  call.BatchRank(batch_rank);
  call.Results<CpuContext>(results, {&db0, &db, &da, &dx, &dzi}, {});
  call.Result(db0, call.dtype(), {&s});
  call.Result(db, call.dtype(), {&s, &m});
  call.Result(da, call.dtype(), {&s, &m});
  call.Result(dx, call.dtype(), {&n});
  call.Result(dzi, call.dtype(), {&s, &m});
  if (!call.ok()) return call.error();
  return call.Run(device, 4, [&](auto zero) {
    using T = decltype(zero);
    return FilterGradients<T>{
        call.All<T>(),        call.Of<T>(y, n, 1), call.Of<T>(dzf, s * m, 2),
        call.Of<T>(dy, n, 1), db0.data<T>(),       db.data<T>(),
        da.data<T>(),         dx.data<T>(),        dzi.data<T>()};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_lfilter_fwd, ForwardHandler,
                           .Attr<bool>("reverse")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // b0
                               .Arg<Buffer>()    // b
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // zi
                               .Ret<Buffer>()    // zf
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_lfilter_bwd, BackwardHandler,
                           .Attr<bool>("reverse")
                               .Attr<int64_t>("trailing_rank")
                               .Attr<int64_t>("batch_rank")
                               .Attr<int64_t>("wanted")
                               .Arg<Buffer>()      // b0
                               .Arg<Buffer>()      // b
                               .Arg<Buffer>()      // a
                               .Arg<Buffer>()      // x
                               .Arg<Buffer>()      // zi
                               .RemainingArgs()    // y, dzf, dy
                               .RemainingRets());  // db0, db, da, dx, dzi

}  // namespace xla_ffi_ops
