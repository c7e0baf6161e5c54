// SPDX-License-Identifier: Apache-2.0
// Products of small matrices, and what makes them Hermitian.
#ifndef XLA_FFI_OPS_LINALG_PRODUCTS_H_
#define XLA_FFI_OPS_LINALG_PRODUCTS_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// How a product reads an operand.
enum class Read { kPlain, kTransposed, kAdjoint };

namespace internal {

// Element [i, j] of a matrix as it is read, whose rows in memory are `width`.
template <Read read, typename V>
XLA_FFI_OPS_HD V ElementOf(const V* a, int64_t width, int64_t i, int64_t j) {
  if constexpr (read == Read::kPlain) {
    return a[i * width + j];
  } else if constexpr (read == Read::kTransposed) {
    return a[j * width + i];
  } else {
    return Conj(a[j * width + i]);
  }
}

}  // namespace internal

// to = A B, [m, n], where A and B are a and b as they are read: [m, k], [k, n].
template <Read a_read = Read::kPlain, Read b_read = Read::kPlain, typename M,
          typename K, typename N, typename V>
XLA_FFI_OPS_HD void Multiply(M m, K k, N n, const V* a, const V* b, V* to) {
  const int64_t a_width = a_read == Read::kPlain ? int64_t(k) : int64_t(m);
  const int64_t b_width = b_read == Read::kPlain ? int64_t(n) : int64_t(k);
  // So many elements of a row share the loads of A.
  constexpr int64_t kTogether = 4;
  const auto compute = [&](int64_t i, int64_t j,
                           auto count) XLA_FFI_OPS_INLINED {
    V sums[count] = {};
    for (int64_t l = 0; l < k; ++l) {
      const V x = internal::ElementOf<a_read>(a, a_width, i, l);
      for (int64_t c = 0; c < count; ++c) {
        sums[c] = MulAdd(x, internal::ElementOf<b_read>(b, b_width, l, j + c),
                         sums[c]);
      }
    }
    for (int64_t c = 0; c < count; ++c) to[i * n + j + c] = sums[c];
  };
  for (int64_t i = 0; i < m; ++i) {
    int64_t j = 0;
    for (; j + kTogether <= n; j += kTogether) {
      compute(i, j, Fixed<kTogether>());
    }
    for (; j < n; ++j) compute(i, j, Fixed<1>());
  }
}

// The first n elements of y, less a multiple of those of x.
template <typename V>
XLA_FFI_OPS_HD void SubtractRow(V factor, int64_t n, const V* x, V* y) {
  for (int64_t j = 0; j < n; ++j) y[j] = MulSub(factor, x[j], y[j]);
}

// (a + a^H) / 2, of the lower triangle alone, or of all.
template <typename N, typename V>
XLA_FFI_OPS_HD void SymmetrizeLower(N n, V* a) {
  const Real<V> half = Splat<Real<V>>(0.5);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      a[i * n + j] = Scaled(a[i * n + j] + Conj(a[j * n + i]), half);
    }
  }
}
template <typename N, typename V>
XLA_FFI_OPS_HD void Symmetrize(N n, V* a) {
  SymmetrizeLower(n, a);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) a[j * n + i] = Conj(a[i * n + j]);
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_PRODUCTS_H_
