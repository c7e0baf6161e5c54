// SPDX-License-Identifier: Apache-2.0
// The handler of tridiagonal_solve, (n),(n),(n),(n,k)->(n,k).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/tridiagonal_solve/tridiagonal_solve.h"
#include "xla_ffi_ops/vec/lanes/lane_numbers.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using SolveDTypes = DTypes<ffi::F32, ffi::F64, ffi::C64, ffi::C128>;

template <typename T>
HandlerResult Run(const CpuContext& device, const TridiagonalSystems<T>& call,
                  int64_t systems) {
  if (call.n == 0 || call.k == 0) return ffi::Error::Success();
  // A system takes as long as to move four times its elements.
  return ParallelGroups(
      device.pool, systems, SystemsAtOnce<T>(systems, call.k),
      4 * sizeof(T) * call.n * (3 + 2 * call.k),
      [=](int64_t begin, int64_t end) { SolveTridiagonal(call, begin, end); });
}

HandlerResult SolveHandler(CpuContext device, Buffer dl, Buffer d, Buffer du,
                           Buffer b, ffi::Result<Buffer> x) {
  Dim n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("dl", dl, SolveDTypes(), {&n});
  checks.Operand("d", d, dl.element_type(), {&n});
  checks.Operand("du", du, dl.element_type(), {&n});
  checks.Operand("b", b, dl.element_type(), {&n, &k});
  checks.Result("x", *x, dl.element_type(), {&n, &k});
  const RowMap maps[] = {checks.Map("dl", dl, 1), checks.Map("d", d, 1),
                         checks.Map("du", du, 1), checks.Map("b", b, 2)};
  if (!checks.ok()) return checks.error();

  return Dispatch(SolveDTypes(), dl.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const TridiagonalSystems<T> call{n,
                                     k,
                                     {Data<const T>(dl), n, maps[0]},
                                     {Data<const T>(d), n, maps[1]},
                                     {Data<const T>(du), n, maps[2]},
                                     {Data<const T>(b), n * k, maps[3]},
                                     Data<T>(*x)};
    return Run(device, call, Product(checks.loops()));
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_tridiagonal_solve_fwd, SolveHandler,
                           .Arg<Buffer>()        // dl
                               .Arg<Buffer>()    // d
                               .Arg<Buffer>()    // du
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // x

}  // namespace xla_ffi_ops
