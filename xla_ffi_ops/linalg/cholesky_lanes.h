// SPDX-License-Identifier: Apache-2.0
// Factors of Hermitian matrices, A = L L^H (Golub and Van Loan, Matrix
// Computations, section 4.2).
#ifndef XLA_FFI_OPS_LINALG_CHOLESKY_LANES_H_
#define XLA_FFI_OPS_LINALG_CHOLESKY_LANES_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// Leaves L in the lower triangle of a, [n, n], of which it reads no other part,
// and 0 above. If a pivot is not positive, all of the lower triangle is NaN.
template <typename Size, typename V>
XLA_FFI_OPS_HD void Cholesky(Size n, V* a) {
  using R = Real<V>;
  R sum{};  // NaN, once a pivot is.
  for (int64_t j = 0; j < n; ++j) {
    V* const row = a + j * n;
    R pivot = RealPart(row[j]);
    for (int64_t k = 0; k < j; ++k) pivot -= Squared(row[k]);
    const R root =
        Sqrt(Select(pivot > R{}, pivot, Splat<R>(Limits<V>::quiet_NaN())));
    const R scale = 1 / root;
    sum += root;
    row[j] = FromReal<V>(root);
    for (int64_t i = j + 1; i < n; ++i) {
      V* const below = a + i * n;
      V x = below[j];
      for (int64_t k = 0; k < j; ++k) x = MulSub(below[k], Conj(row[k]), x);
      below[j] = Scaled(x, scale);
      row[i] = V{};
    }
  }
  const auto is_factor = sum == sum;
  const V none = FromReal<V>(Splat<R>(Limits<V>::quiet_NaN()));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      a[i * n + j] = Select(is_factor, a[i * n + j], none);
    }
  }
}

// The cotangent of a lower triangle A for dl, that of L:
//
//   da = L^-T phi(L^T dl) conj(L)^-1,  phi: the lower triangle, half its
//   diagonal
//
// the transpose of dL = L phi(L^-1 dA L^-H) (Murray, Differentiation of the
// Cholesky decomposition, 2016, equation 8). All are [n, n].
//
// Loops go along rows: the distance of columns is a power of two for most
// sizes, and such lines compete for few places of the cache.
template <typename Size, typename V>
XLA_FFI_OPS_HD void CholeskyGradient(Size n, const V* l, const V* dl, V* da) {
  using R = Real<V>;
  for (int64_t i = 0; i < n * n; ++i) da[i] = V{};
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i <= k; ++i) {
      SubtractRow(-l[k * n + i], i + 1, dl + k * n, da + i * n);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    da[i * n + i] = Scaled(da[i * n + i], Splat<R>(0.5));
  }
  for (int64_t i = n - 1; i >= 0; --i) {  // L^T x = da, in place
    const R scale = 1 / RealPart(l[i * n + i]);
    for (int64_t j = 0; j < n; ++j)
      da[i * n + j] = Scaled(da[i * n + j], scale);
    for (int64_t k = 0; k < i; ++k) {
      SubtractRow(l[i * n + k], n, da + i * n, da + k * n);
    }
  }
  for (int64_t j = n - 1; j >= 0; --j) {  // x conj(L) = da, in place
    const R scale = 1 / RealPart(l[j * n + j]);
    for (int64_t i = 0; i < n; ++i) {
      V* const row = da + i * n;
      row[j] = Scaled(row[j], scale);
      for (int64_t k = 0; k < j; ++k) {
        row[k] = MulSub(row[j], Conj(l[j * n + k]), row[k]);
      }
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_CHOLESKY_LANES_H_
