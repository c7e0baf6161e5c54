// SPDX-License-Identifier: Apache-2.0
// The handlers of triangular_solve, (n,n),(n,k)->(n,k).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/triangular_solve/triangular_solve.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::AllTypes;

HandlerResult ForwardHandler(CpuContext device, bool lower, bool transpose,
                             bool conjugate, bool unit_diagonal, Buffer a,
                             Buffer b, ffi::Result<Buffer> x) {
  Dim n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, AllTypes(), {&n, &n});
  checks.Operand("b", b, a.element_type(), {&n, &k});
  checks.Result("x", *x, a.element_type(), {&n, &k});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<AllTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return TriangularSystems<T>{
        n,
        k,
        {lower, transpose, conjugate, unit_diagonal},
        linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
        linalg::OperandRows<T>(&checks, "b", b, 2, n * k),
        linalg::ResultRows<T>(*x, n * k)};
  });
}

HandlerResult BackwardHandler(CpuContext device, bool lower, bool transpose,
                              bool conjugate, bool unit_diagonal,
                              int64_t batch_rank, Buffer a, Buffer x, Buffer dx,
                              ffi::Result<Buffer> da, ffi::Result<Buffer> db) {
  Dim n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, AllTypes(), {&n, &n});
  checks.Operand("x", x, a.element_type(), {&n, &k});
  checks.Operand("dx", dx, a.element_type(), {&n, &k});
  checks.BatchRank(batch_rank);
  checks.Result("da", *da, a.element_type(), {&n, &n});
  checks.Result("db", *db, a.element_type(), {&n, &k});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<AllTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return TriangularGradients<T>{
        n,
        k,
        {lower, transpose, conjugate, unit_diagonal},
        linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
        linalg::OperandRows<T>(&checks, "x", x, 2, n * k),
        linalg::OperandRows<T>(&checks, "dx", dx, 2, n * k),
        linalg::ResultRows<T>(*da, n * n),
        linalg::ResultRows<T>(*db, n * k)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_triangular_solve_fwd, ForwardHandler,
                           .Attr<bool>("lower")
                               .Attr<bool>("transpose")
                               .Attr<bool>("conjugate")
                               .Attr<bool>("unit_diagonal")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // x

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_triangular_solve_bwd, BackwardHandler,
                           .Attr<bool>("lower")
                               .Attr<bool>("transpose")
                               .Attr<bool>("conjugate")
                               .Attr<bool>("unit_diagonal")
                               .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // dx
                               .Ret<Buffer>()    // da
                               .Ret<Buffer>());  // db

}  // namespace xla_ffi_ops
