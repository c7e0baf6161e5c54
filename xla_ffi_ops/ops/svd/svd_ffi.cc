// SPDX-License-Identifier: Apache-2.0
// The handlers of svd, (m,n)->(m,k),(k),(k,n), of svd_full,
// (m,n)->(m,m),(k),(n,n), and of svd_values, (m,n)->(k): k is the lesser of m
// and n.
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/svd/svd.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::RealTypes;

void CheckSizes(Checks* checks, const char* name, Dim m, Dim n, Dim k) {
  linalg::CheckSize(checks, name, std::max(m, n));
  if (k != std::min(m, n)) {
    checks->Fail("s", "have the lesser size of the matrix", std::to_string(k));
  }
}

template <bool all>
HandlerResult ForwardHandler(CpuContext device, Buffer a, ffi::Result<Buffer> u,
                             ffi::Result<Buffer> s, ffi::Result<Buffer> vt) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&m, &n});
  checks.Result("s", *s, a.element_type(), {&k});
  checks.Result("u", *u, a.element_type(), {&m, all ? &m : &k});
  checks.Result("vh", *vt, a.element_type(), {all ? &n : &k, &n});
  CheckSizes(&checks, "a", m, n, k);
  return linalg::RunMatrices<RealTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return SvdFactors<T>{m,
                         n,
                         all,
                         linalg::OperandRows<T>(&checks, "a", a, 2, m * n),
                         linalg::ResultRows<T>(*u, m * (all ? m : k)),
                         linalg::ResultRows<T>(*s, k),
                         linalg::ResultRows<T>(*vt, n * (all ? n : k))};
  });
}

HandlerResult ValuesHandler(CpuContext device, Buffer a,
                            ffi::Result<Buffer> s) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, RealTypes(), {&m, &n});
  checks.Result("s", *s, a.element_type(), {&k});
  CheckSizes(&checks, "a", m, n, k);
  return linalg::RunMatrices<RealTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return SvdFactors<T>{m,
                         n,
                         false,
                         linalg::OperandRows<T>(&checks, "a", a, 2, m * n),
                         {nullptr, 0, {}},
                         linalg::ResultRows<T>(*s, k),
                         {nullptr, 0, {}}};
  });
}

HandlerResult BackwardHandler(CpuContext device, int64_t batch_rank, Buffer u,
                              Buffer s, Buffer vt, Buffer du, Buffer ds,
                              Buffer dvt, ffi::Result<Buffer> da) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("u", u, RealTypes(), {&m, &k});
  checks.Operand("s", s, u.element_type(), {&k});
  checks.Operand("vh", vt, u.element_type(), {&k, &n});
  checks.Operand("du", du, u.element_type(), {&m, &k});
  checks.Operand("ds", ds, u.element_type(), {&k});
  checks.Operand("dvh", dvt, u.element_type(), {&k, &n});
  checks.BatchRank(batch_rank);
  checks.Result("da", *da, u.element_type(), {&m, &n});
  CheckSizes(&checks, "u", m, n, k);
  return linalg::RunMatrices<RealTypes>(device, &checks, u, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return SvdGradients<T>{
        m,
        n,
        linalg::OperandRows<T>(&checks, "u", u, 2, m * k),
        linalg::OperandRows<T>(&checks, "s", s, 1, k),
        linalg::OperandRows<T>(&checks, "vh", vt, 2, k * n),
        linalg::OperandRows<T>(&checks, "du", du, 2, m * k),
        linalg::OperandRows<T>(&checks, "ds", ds, 1, k),
        linalg::OperandRows<T>(&checks, "dvh", dvt, 2, k * n),
        linalg::ResultRows<T>(*da, m * n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_svd_fwd, ForwardHandler<false>,
                           .Arg<Buffer>()        // a
                               .Ret<Buffer>()    // u
                               .Ret<Buffer>()    // s
                               .Ret<Buffer>());  // vh

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_svd_full_fwd, ForwardHandler<true>,
                           .Arg<Buffer>()        // a
                               .Ret<Buffer>()    // u
                               .Ret<Buffer>()    // s
                               .Ret<Buffer>());  // vh

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_svd_values_fwd, ValuesHandler,
                           .Arg<Buffer>()        // a
                               .Ret<Buffer>());  // s

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_svd_bwd, BackwardHandler,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // u
                               .Arg<Buffer>()    // s
                               .Arg<Buffer>()    // vh
                               .Arg<Buffer>()    // du
                               .Arg<Buffer>()    // ds
                               .Arg<Buffer>()    // dvh
                               .Ret<Buffer>());  // da

}  // namespace xla_ffi_ops
