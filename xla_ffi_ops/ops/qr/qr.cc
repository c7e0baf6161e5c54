// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/qr/qr.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/qr_lanes.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const QrFactors<T>& factors, int64_t begin, int64_t end) {
  const int64_t m = factors.m, n = factors.n, k = factors.k;
  const int64_t count = std::min(m, n);
  linalg::MatrixCall<T> call;
  call.memory = m * n + m * k + count;
  call.Add(factors.a, 0);
  call.Add(factors.r, 0);  // the first k rows
  call.Add(factors.q, m * n);
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    using V = std::decay_t<decltype(*a)>;
    V* const q = a + m * n;
    V* const taus = q + m * k;
    linalg::QrFactor(m, n, a, taus);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < count; ++j) q[i * k + j] = a[i * n + j];
      for (int64_t j = 0; j < std::min(i, n); ++j) a[i * n + j] = V{};
    }
    linalg::MultiplyReflectors(m, k, count, taus, q);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

template <typename T>
void Compute(const QrGradients<T>& gradients, int64_t begin, int64_t end) {
  const int64_t m = gradients.m, n = gradients.n, k = std::min(m, n);
  const int64_t factors = m * k + k * n;
  linalg::MatrixCall<T> call;
  call.memory = 2 * factors + m * n + k * k;
  call.Add(gradients.q, 0);
  call.Add(gradients.r, m * k);
  call.Add(gradients.dq, factors);
  call.Add(gradients.dr, factors + m * k);
  call.Add(gradients.da, 2 * factors);
  const auto kernel = [=](auto* q) XLA_FFI_OPS_INLINED {
    auto* const dq = q + factors;
    auto* const da = dq + factors;
    linalg::QrGradient(m, n, q, q + m * k, dq, dq + m * k, da + m * n, da);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T)                              \
  template void Compute(const QrFactors<T>&, int64_t, int64_t); \
  template void Compute(const QrGradients<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
