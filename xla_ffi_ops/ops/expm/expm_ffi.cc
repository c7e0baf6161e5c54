// SPDX-License-Identifier: Apache-2.0
// The handlers of expm, (n,n)->(n,n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/expm/expm.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::RealTypes;

HandlerResult ForwardHandler(CpuContext device, int64_t max_squarings, Buffer a,
                             ffi::Result<Buffer> y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&n, &n});
  checks.Result("y", *y, a.element_type(), {&n, &n});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<RealTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return Exponentials<T>{n, max_squarings,
                           linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
                           linalg::ResultRows<T>(*y, n * n)};
  });
}

HandlerResult BackwardHandler(CpuContext device, int64_t max_squarings,
                              int64_t batch_rank, Buffer a, Buffer dy,
                              ffi::Result<Buffer> da) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&n, &n});
  checks.Operand("dy", dy, a.element_type(), {&n, &n});
  checks.BatchRank(batch_rank);
  checks.Result("da", *da, a.element_type(), {&n, &n});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<RealTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return ExponentialGradients<T>{
        n, max_squarings, linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
        linalg::OperandRows<T>(&checks, "dy", dy, 2, n * n),
        linalg::ResultRows<T>(*da, n * n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_expm_fwd, ForwardHandler,
                           .Attr<int64_t>("max_squarings")
                               .Arg<Buffer>()    // a
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_expm_bwd, BackwardHandler,
                           .Attr<int64_t>("max_squarings")
                               .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>());  // da

}  // namespace xla_ffi_ops
