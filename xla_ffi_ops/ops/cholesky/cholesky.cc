// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/cholesky/cholesky.h"

#include <complex>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/linalg/cholesky_lanes.h"
#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const CholeskyFactors<T>& factors, int64_t begin, int64_t end) {
  const int64_t n = factors.n;
  const bool symmetrize = factors.symmetrize;
  linalg::MatrixCall<T> call;
  call.memory = n * n;
  call.Add(factors.a, 0);
  call.Add(factors.l, 0);
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    using V = std::decay_t<decltype(*a)>;
    linalg::AtRows<V>(n, [&](auto size) XLA_FFI_OPS_INLINED {
      if (symmetrize) linalg::SymmetrizeLower(size, a);
      linalg::Cholesky(size, a);
    });
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

template <typename T>
void Compute(const CholeskyGradients<T>& gradients, int64_t begin,
             int64_t end) {
  const int64_t n = gradients.n;
  const bool symmetrize = gradients.symmetrize;
  linalg::MatrixCall<T> call;
  call.memory = 3 * n * n;
  call.Add(gradients.l, 0);
  call.Add(gradients.dl, n * n);
  call.Add(gradients.da, 2 * n * n);
  const auto kernel = [=](auto* l) XLA_FFI_OPS_INLINED {
    using V = std::decay_t<decltype(*l)>;
    linalg::AtRows<V>(n, [&](auto size) XLA_FFI_OPS_INLINED {
      linalg::CholeskyGradient(size, l, l + n * n, l + 2 * n * n);
      if (symmetrize) linalg::Symmetrize(size, l + 2 * n * n);
    });
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T)                                    \
  template void Compute(const CholeskyFactors<T>&, int64_t, int64_t); \
  template void Compute(const CholeskyGradients<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
