// SPDX-License-Identifier: Apache-2.0
// The handler of solve_banded, (d,n),(n,k)->(n,k).
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/solve_banded/solve_banded.h"
#include "xla_ffi_ops/vec/lanes/lane_numbers.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using SolveDTypes = DTypes<ffi::F32, ffi::F64, ffi::C64, ffi::C128>;

template <typename T>
HandlerResult Run(const CpuContext& device, const BandedSystems<T>& call,
                  int64_t systems) {
  // A multiplication takes as long as to move its operands.
  return ParallelGroups(
      device.pool, systems, SystemsAtOnce<T>(systems, call.k),
      2 * sizeof(T) * call.n * (call.width() + call.k) * (call.lower + 2),
      [=](int64_t begin, int64_t end) { SolveBanded(call, begin, end); });
}

HandlerResult SolveHandler(CpuContext device, int64_t upper, Buffer ab,
                           Buffer b, ffi::Result<Buffer> x) {
  Dim d = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("ab", ab, SolveDTypes(), {&d, &n});
  checks.Operand("b", b, ab.element_type(), {&n, &k});
  checks.Result("x", *x, ab.element_type(), {&n, &k});
  const RowMap ab_map = checks.Map("ab", ab, 2), b_map = checks.Map("b", b, 2);
  if (upper < 0 || upper >= d) {
    checks.Fail("upper", "be one of the " + std::to_string(d) + " rows of ab",
                std::to_string(upper));
  }
  if (!checks.ok()) return checks.error();
  const int64_t systems = Product(checks.loops());
  if (n == 0 || k == 0 || systems == 0) return ffi::Error::Success();

  return Dispatch(SolveDTypes(), ab.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const BandedSystems<T> call{n,
                                k,
                                upper,
                                std::min(d - 1 - upper, n - 1),
                                std::min(upper, n - 1),
                                {Data<const T>(ab), d * n, ab_map},
                                {Data<const T>(b), n * k, b_map},
                                Data<T>(*x)};
    return Run(device, call, systems);
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_solve_banded_fwd, SolveHandler,
                           .Attr<int64_t>("upper")
                               .Arg<Buffer>()    // ab
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // x

}  // namespace xla_ffi_ops
