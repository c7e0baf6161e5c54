// SPDX-License-Identifier: Apache-2.0
// The handlers of cholesky, (n,n)->(n,n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/cholesky/cholesky.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::AllTypes;

HandlerResult ForwardHandler(CpuContext device, bool symmetrize, Buffer a,
                             ffi::Result<Buffer> l) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, AllTypes(), {&n, &n});
  checks.Result("l", *l, a.element_type(), {&n, &n});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<AllTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return CholeskyFactors<T>{n, symmetrize,
                              linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
                              linalg::ResultRows<T>(*l, n * n)};
  });
}

HandlerResult BackwardHandler(CpuContext device, bool symmetrize,
                              int64_t batch_rank, Buffer l, Buffer dl,
                              ffi::Result<Buffer> da) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("l", l, AllTypes(), {&n, &n});
  checks.Operand("dl", dl, l.element_type(), {&n, &n});
  checks.BatchRank(batch_rank);
  checks.Result("da", *da, l.element_type(), {&n, &n});
  linalg::CheckSize(&checks, "l", n);
  return linalg::RunMatrices<AllTypes>(device, &checks, l, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return CholeskyGradients<T>{
        n, symmetrize, linalg::OperandRows<T>(&checks, "l", l, 2, n * n),
        linalg::OperandRows<T>(&checks, "dl", dl, 2, n * n),
        linalg::ResultRows<T>(*da, n * n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_cholesky_fwd, ForwardHandler,
                           .Attr<bool>("symmetrize")
                               .Arg<Buffer>()    // a
                               .Ret<Buffer>());  // l

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_cholesky_bwd, BackwardHandler,
                           .Attr<bool>("symmetrize")
                               .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // l
                               .Arg<Buffer>()    // dl
                               .Ret<Buffer>());  // da

}  // namespace xla_ffi_ops
