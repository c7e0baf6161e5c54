// SPDX-License-Identifier: Apache-2.0
// The handler of lu_solve, (n,n),(n),(n,k)->(n,k).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/lu_solve/lu_solve.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::AllTypes;

HandlerResult LuSolveHandler(CpuContext device, bool transpose, bool conjugate,
                             Buffer lu, Buffer order, Buffer b,
                             ffi::Result<Buffer> x) {
  Dim n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("lu", lu, AllTypes(), {&n, &n});
  checks.Operand("order", order, ffi::S32, {&n});
  checks.Operand("b", b, lu.element_type(), {&n, &k});
  checks.Result("x", *x, lu.element_type(), {&n, &k});
  linalg::CheckSize(&checks, "lu", n);
  return linalg::RunMatrices<AllTypes>(device, &checks, lu, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return FactoredSystems<T>{
        n,
        k,
        transpose,
        conjugate,
        linalg::OperandRows<T>(&checks, "lu", lu, 2, n * n),
        linalg::OperandRows<int32_t>(&checks, "order", order, 1, n),
        linalg::OperandRows<T>(&checks, "b", b, 2, n * k),
        linalg::ResultRows<T>(*x, n * k)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_lu_solve_fwd, LuSolveHandler,
                           .Attr<bool>("transpose")
                               .Attr<bool>("conjugate")
                               .Arg<Buffer>()    // lu
                               .Arg<Buffer>()    // order
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // x

}  // namespace xla_ffi_ops
