// SPDX-License-Identifier: Apache-2.0
// The handler of spline_filter1d, (n,*)->(n,*).
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/spline_filter1d/spline_filter1d.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Weights = ffi::Span<const double>;
using SplineDTypes = DTypes<ffi::F32, ffi::F64>;

void CheckAt(const char* name, int64_t at, Checks& checks) {
  if (at < 0) checks.Fail(name, "be at least 0", std::to_string(at));
}

// Without elements that a line of n does not have.
template <typename T>
WeightedPart<T> PartOf(int64_t n, int64_t first, Weights weights) {
  first = std::min(first, n);
  const int64_t size = weights.size();
  return {first,
          {weights.begin(), weights.begin() + std::min(size, n - first)}};
}

HandlerResult SplineHandler(CpuContext device, double pole, double gain,
                            Weights before, int64_t before_at, Weights behind,
                            int64_t behind_at, int64_t trailing_rank, Buffer x,
                            ffi::Result<Buffer> c) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, SplineDTypes(), {&n});
  checks.Result("c", *c, x.element_type(), {&n});
  CheckAt("before_at", before_at, checks);
  CheckAt("behind_at", behind_at, checks);
  const RowMap rows = checks.Map("x", x, 1);
  const RowMap columns = checks.TrailingMap("x", x, 1);
  if (!checks.ok()) return checks.error();

  return Dispatch(SplineDTypes(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const SplineFilter<T> call{
        n,
        Product(checks.trailing()),
        static_cast<T>(pole),
        static_cast<T>(gain),
        PartOf<T>(n, before_at, before),
        PartOf<T>(n, behind_at, behind),
        {Data<const T>(x), n, checks.TrailingSize(x, 1), rows, columns},
        Data<T>(*c)};
    const int64_t lines = Product(checks.loops()) * call.columns;
    if (n == 0 || lines == 0) return HandlerResult(ffi::Error::Success());
    // Copies take as long as the two recurrences.
    return ParallelGroups(device.pool, lines, SplineLinesAtOnce<T>(n),
                          4 * sizeof(T) * n,
                          [call](int64_t begin, int64_t end) {
                            RunSplineFilter(call, begin, end);
                          });
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_spline_filter1d_fwd, SplineHandler,
                           .Attr<double>("pole")
                               .Attr<double>("gain")
                               .Attr<Weights>("before")
                               .Attr<int64_t>("before_at")
                               .Attr<Weights>("behind")
                               .Attr<int64_t>("behind_at")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // x
                               .Ret<Buffer>());  // c

}  // namespace xla_ffi_ops
