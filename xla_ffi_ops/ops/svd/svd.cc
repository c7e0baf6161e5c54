// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/svd/svd.h"

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/svd_lanes.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const SvdFactors<T>& factors, int64_t begin, int64_t end) {
  const int64_t rows = factors.m, columns = factors.n;
  const int64_t m = std::max(rows, columns), n = std::min(rows, columns);
  const bool has_vectors = factors.u.data != nullptr;
  const int64_t k = !has_vectors ? 0 : factors.all ? m : n;
  const int64_t s_at = m * n, u_at = s_at + n;
  const int64_t vt_at = u_at + factors.u.cols;
  const int64_t scratch_at = vt_at + factors.vt.cols;
  linalg::MatrixCall<T> call;
  call.memory = scratch_at + linalg::SvdScratch(rows, columns, k);
  call.Add(factors.a, 0);
  call.Add(factors.s, s_at);
  if (has_vectors) {
    call.Add(factors.u, u_at);
    call.Add(factors.vt, vt_at);
  }
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    linalg::Svd(rows, columns, k, a, a + u_at, a + s_at, a + vt_at,
                a + scratch_at);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

template <typename T>
void Compute(const SvdGradients<T>& gradients, int64_t begin, int64_t end) {
  const int64_t m = gradients.m, n = gradients.n, k = std::min(m, n);
  const int64_t factors = m * k + k + k * n;
  linalg::MatrixCall<T> call;
  call.memory = 2 * factors + m * n + 2 * k * k + k * n;
  call.Add(gradients.u, 0);
  call.Add(gradients.s, m * k);
  call.Add(gradients.vt, m * k + k);
  call.Add(gradients.du, factors);
  call.Add(gradients.ds, factors + m * k);
  call.Add(gradients.dvt, factors + m * k + k);
  call.Add(gradients.da, 2 * factors);
  const auto kernel = [=](auto* u) XLA_FFI_OPS_INLINED {
    auto* const s = u + m * k;
    auto* const da = u + 2 * factors;
    linalg::SvdGradient(m, n, u, s, s + k, u + factors, s + factors,
                        s + factors + k, da + m * n, da);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

template void Compute(const SvdFactors<float>&, int64_t, int64_t);
template void Compute(const SvdFactors<double>&, int64_t, int64_t);
template void Compute(const SvdGradients<float>&, int64_t, int64_t);
template void Compute(const SvdGradients<double>&, int64_t, int64_t);

}  // namespace xla_ffi_ops
