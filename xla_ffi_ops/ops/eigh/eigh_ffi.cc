// SPDX-License-Identifier: Apache-2.0
// The handlers of eigh, (n,n)->(n),(n,n), and of its values, (n,n)->(n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/eigh/eigh.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::RealTypes;

HandlerResult ValuesHandler(CpuContext device, bool symmetrize, Buffer a,
                            ffi::Result<Buffer> w) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&n, &n});
  checks.Result("w", *w, a.element_type(), {&n});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<RealTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return Eigenvalues<T>{n, symmetrize,
                          linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
                          linalg::ResultRows<T>(*w, n)};
  });
}

HandlerResult ForwardHandler(CpuContext device, bool symmetrize, Buffer a,
                             ffi::Result<Buffer> w, ffi::Result<Buffer> v) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&n, &n});
  checks.Result("w", *w, a.element_type(), {&n});
  checks.Result("v", *v, a.element_type(), {&n, &n});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<RealTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return Eigenvectors<T>{
        {n, symmetrize, linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
         linalg::ResultRows<T>(*w, n)},
        linalg::ResultRows<T>(*v, n * n)};
  });
}

HandlerResult BackwardHandler(CpuContext device, bool symmetrize,
                              int64_t batch_rank, Buffer w, Buffer v, Buffer dw,
                              Buffer dv, ffi::Result<Buffer> da) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("w", w, RealTypes(), {&n});
  checks.Operand("v", v, w.element_type(), {&n, &n});
  checks.Operand("dw", dw, w.element_type(), {&n});
  checks.Operand("dv", dv, w.element_type(), {&n, &n});
  checks.BatchRank(batch_rank);
  checks.Result("da", *da, w.element_type(), {&n, &n});
  linalg::CheckSize(&checks, "v", n);
  return linalg::RunMatrices<RealTypes>(device, &checks, w, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return EighGradients<T>{n,
                            symmetrize,
                            linalg::OperandRows<T>(&checks, "w", w, 1, n),
                            linalg::OperandRows<T>(&checks, "v", v, 2, n * n),
                            linalg::OperandRows<T>(&checks, "dw", dw, 1, n),
                            linalg::OperandRows<T>(&checks, "dv", dv, 2, n * n),
                            linalg::ResultRows<T>(*da, n * n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_eigh_values_fwd, ValuesHandler,
                           .Attr<bool>("symmetrize")
                               .Arg<Buffer>()    // a
                               .Ret<Buffer>());  // w

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_eigh_fwd, ForwardHandler,
                           .Attr<bool>("symmetrize")
                               .Arg<Buffer>()    // a
                               .Ret<Buffer>()    // w
                               .Ret<Buffer>());  // v

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_eigh_bwd, BackwardHandler,
                           .Attr<bool>("symmetrize")
                               .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // w
                               .Arg<Buffer>()    // v
                               .Arg<Buffer>()    // dw
                               .Arg<Buffer>()    // dv
                               .Ret<Buffer>());  // da

}  // namespace xla_ffi_ops
