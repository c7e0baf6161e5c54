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

// Multiplications of a matrix: LAPACK's count is 9 n^3; 4/3 n^3 without
// vectors. Square roots of sweeps take as long as more.
int64_t Multiplications(int64_t n) { return 9 * n * n * n + 20 * n * n; }

HandlerResult ValuesHandler(CpuContext device, bool symmetrize, Buffer a,
                            ffi::Result<Buffer> w) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&n, &n});
  checks.Result("w", *w, a.element_type(), {&n});
  linalg::CheckSize(&checks, "a", n);
  if (!checks.ok()) return checks.error();
  return Dispatch(RealTypes(), a.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const Eigenvalues<T> call{n, symmetrize,
                              linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
                              linalg::ResultRows<T>(*w, n)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return linalg::RunMatrices<T>(
        device, Product(checks.loops()), Multiplications(n) / 2,
        [=](int64_t begin, int64_t end) { RunEigh(call, begin, end); });
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
  if (!checks.ok()) return checks.error();
  return Dispatch(RealTypes(), a.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const Eigenvectors<T> call{
        {n, symmetrize, linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
         linalg::ResultRows<T>(*w, n)},
        linalg::ResultRows<T>(*v, n * n)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return linalg::RunMatrices<T>(
        device, Product(checks.loops()), Multiplications(n),
        [=](int64_t begin, int64_t end) { RunEigh(call, begin, end); });
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
  if (!checks.ok()) return checks.error();
  return Dispatch(RealTypes(), w.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const EighGradients<T> call{
        n,
        symmetrize,
        linalg::OperandRows<T>(&checks, "w", w, 1, n),
        linalg::OperandRows<T>(&checks, "v", v, 2, n * n),
        linalg::OperandRows<T>(&checks, "dw", dw, 1, n),
        linalg::OperandRows<T>(&checks, "dv", dv, 2, n * n),
        linalg::ResultRows<T>(*da, n * n)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return linalg::RunMatrices<T>(
        device, Product(checks.loops()), 4 * n * n * n,
        [=](int64_t begin, int64_t end) { RunEigh(call, begin, end); });
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
