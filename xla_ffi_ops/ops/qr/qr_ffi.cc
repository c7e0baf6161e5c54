// SPDX-License-Identifier: Apache-2.0
// The handlers of qr, (m,n)->(m,k),(k,n), and qr_complete, the same: there k is
// m; here it is the lesser of m and n.
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/qr/qr.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::AllTypes;

void CheckSizes(Checks* checks, const char* name, Dim m, Dim n, Dim k,
                Dim expected) {
  linalg::CheckSize(checks, name, std::max(m, n));
  if (k != expected) {
    checks->Fail("r", "have " + std::to_string(expected) + " rows",
                 std::to_string(k));
  }
}

template <bool complete>
HandlerResult ForwardHandler(CpuContext device, Buffer a, ffi::Result<Buffer> q,
                             ffi::Result<Buffer> r) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, AllTypes(), {&m, &n});
  checks.Result("q", *q, a.element_type(), {&m, &k});
  checks.Result("r", *r, a.element_type(), {&k, &n});
  CheckSizes(&checks, "a", m, n, k, complete ? m : std::min(m, n));
  return linalg::RunMatrices<AllTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return QrFactors<T>{m,
                        n,
                        k,
                        linalg::OperandRows<T>(&checks, "a", a, 2, m * n),
                        linalg::ResultRows<T>(*q, m * k),
                        linalg::ResultRows<T>(*r, k * n)};
  });
}

HandlerResult BackwardHandler(CpuContext device, int64_t batch_rank, Buffer q,
                              Buffer r, Buffer dq, Buffer dr,
                              ffi::Result<Buffer> da) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("q", q, AllTypes(), {&m, &k});
  checks.Operand("r", r, q.element_type(), {&k, &n});
  checks.Operand("dq", dq, q.element_type(), {&m, &k});
  checks.Operand("dr", dr, q.element_type(), {&k, &n});
  checks.BatchRank(batch_rank);
  checks.Result("da", *da, q.element_type(), {&m, &n});
  CheckSizes(&checks, "q", m, n, k, std::min(m, n));
  return linalg::RunMatrices<AllTypes>(device, &checks, q, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return QrGradients<T>{m,
                          n,
                          linalg::OperandRows<T>(&checks, "q", q, 2, m * k),
                          linalg::OperandRows<T>(&checks, "r", r, 2, k * n),
                          linalg::OperandRows<T>(&checks, "dq", dq, 2, m * k),
                          linalg::OperandRows<T>(&checks, "dr", dr, 2, k * n),
                          linalg::ResultRows<T>(*da, m * n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_qr_fwd, ForwardHandler<false>,
                           .Arg<Buffer>()        // a
                               .Ret<Buffer>()    // q
                               .Ret<Buffer>());  // r

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_qr_complete_fwd, ForwardHandler<true>,
                           .Arg<Buffer>()        // a
                               .Ret<Buffer>()    // q
                               .Ret<Buffer>());  // r

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_qr_bwd, BackwardHandler,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // q
                               .Arg<Buffer>()    // r
                               .Arg<Buffer>()    // dq
                               .Arg<Buffer>()    // dr
                               .Ret<Buffer>());  // da

}  // namespace xla_ffi_ops
