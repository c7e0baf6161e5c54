// SPDX-License-Identifier: Apache-2.0
// Householder's factors, A = Q R (Golub and Van Loan, Matrix Computations,
// section 5.2), stored as LAPACK's geqrf does.
#ifndef XLA_FFI_OPS_LINALG_QR_LANES_H_
#define XLA_FFI_OPS_LINALG_QR_LANES_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/scale.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {
namespace internal {

// Of a column x, [m], that is every `stride`-th number: the reflector
// H = I - tau v v^H with H^H x = (beta, 0, ...), beta real and v[0] = 1. Leaves
// beta and v[1:] in x, and returns tau. If x is such a vector, H is I.
template <typename V>
XLA_FFI_OPS_HD V MakeReflector(int64_t m, int64_t stride, V* x) {
  using R = Real<V>;
  R below{};
  for (int64_t i = 1; i < m; ++i) {
    const R size = Size(x[i * stride]);
    below = Select(size > below, size, Select(size == size, below, size));
  }
  const R first = Size(x[0]);
  const PowerOfTwo<R> scale = PowerOfTwoAt(Select(first > below, first, below));
  const V alpha = Scaled(x[0], scale.up);
  R squares{};
  for (int64_t i = 1; i < m; ++i) {
    squares += Squared(Scaled(x[i * stride], scale.up));
  }
  const R norm = Sqrt(R(Squared(alpha) + squares));
  const R beta = math::WithSign(norm, R(-RealPart(alpha)));
  // What is not 0, although its square may be.
  R other = below;
  if constexpr (kIsComplex<V>) other += math::Abs(alpha.im);
  const auto is_done = other == R{};
  const R one = Splat<R>(1);
  const V difference = alpha - FromReal<V>(beta);
  const V factor = Reciprocal(Select(is_done, FromReal<V>(one), difference));
  for (int64_t i = 1; i < m; ++i) {
    x[i * stride] = Times(Scaled(x[i * stride], scale.up), factor);
  }
  x[0] = Select(is_done, x[0], FromReal<V>(R(beta * scale.down)));
  return Select(is_done, V{}, Scaled(-difference, R(one / beta)));
}

// The rows of a, [m, columns], become (I - factor v v^H) a; `stride` is from
// row to row. v is every `v_stride`-th number, but its first is 1.
template <typename V>
XLA_FFI_OPS_HD void Reflect(int64_t m, int64_t columns, int64_t v_stride,
                            const V* v, V factor, int64_t stride, V* a) {
  constexpr int64_t kTogether = 4;  // columns for which v is loaded once
  int64_t j = 0;
  for (; j + kTogether <= columns; j += kTogether) {
    V sum[kTogether];
#pragma GCC unroll 4
    for (int64_t c = 0; c < kTogether; ++c) sum[c] = a[j + c];
    for (int64_t i = 1; i < m; ++i) {
      const V other = Conj(v[i * v_stride]);
#pragma GCC unroll 4
      for (int64_t c = 0; c < kTogether; ++c) {
        sum[c] = MulAdd(other, a[i * stride + j + c], sum[c]);
      }
    }
#pragma GCC unroll 4
    for (int64_t c = 0; c < kTogether; ++c) {
      sum[c] = Times(factor, sum[c]);
      a[j + c] = a[j + c] - sum[c];
    }
    for (int64_t i = 1; i < m; ++i) {
      const V other = v[i * v_stride];
#pragma GCC unroll 4
      for (int64_t c = 0; c < kTogether; ++c) {
        V* const at = a + i * stride + j + c;
        *at = MulSub(other, sum[c], *at);
      }
    }
  }
  for (; j < columns; ++j) {
    V sum = a[j];
    for (int64_t i = 1; i < m; ++i) {
      sum = MulAdd(Conj(v[i * v_stride]), a[i * stride + j], sum);
    }
    sum = Times(factor, sum);
    a[j] = a[j] - sum;
    for (int64_t i = 1; i < m; ++i) {
      a[i * stride + j] = MulSub(v[i * v_stride], sum, a[i * stride + j]);
    }
  }
}

}  // namespace internal

// Factors a, [m, n], in place: R is in its upper triangle, and below are the
// reflectors v of Q = H[0] H[1] ..., whose factors are taus, [min(m, n)].
template <typename M, typename N, typename V>
XLA_FFI_OPS_HD void QrFactor(M m, N n, V* a, V* taus) {
  for (int64_t t = 0; t < std::min<int64_t>(m, n); ++t) {
    V* const column = a + t * n + t;
    const V tau = internal::MakeReflector(m - t, n, column);
    taus[t] = tau;
    internal::Reflect(m - t, n - t - 1, n, column, Conj(tau), n, column + 1);
  }
}

// Of `count` reflectors in the columns of a, [m, n] with n <= m, the first n
// columns of their product, in place.
template <typename M, typename N, typename V>
XLA_FFI_OPS_HD void MultiplyReflectors(M m, N n, int64_t count, const V* taus,
                                       V* a) {
  const V one = FromReal<V>(Splat<Real<V>>(1));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = count; j < n; ++j) a[i * n + j] = i == j ? one : V{};
  }
  for (int64_t t = count - 1; t >= 0; --t) {
    V* const column = a + t * n + t;
    internal::Reflect(m - t, n - t - 1, n, column, taus[t], n, column + 1);
    for (int64_t i = 1; i < m - t; ++i) {
      column[i * n] = -Times(taus[t], column[i * n]);
    }
    column[0] = one - taus[t];
    for (int64_t i = 0; i < t; ++i) a[i * n + t] = V{};
  }
}

// c, [m, columns], becomes Q c, or Q^H c if `adjoint`, for Q of `count`
// reflectors in the columns of a, [m, n].
template <typename V>
XLA_FFI_OPS_HD void ApplyReflectors(int64_t m, int64_t columns, int64_t n,
                                    int64_t count, bool adjoint, const V* a,
                                    const V* taus, V* c) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t t = adjoint ? i : count - 1 - i;
    const V tau = adjoint ? Conj(taus[t]) : taus[t];
    internal::Reflect(m - t, columns, n, a + t * n + t, tau, columns,
                      c + t * columns);
  }
}

// The cotangents of a, [m, n], for those of Q, [m, k], and of R, [k, n], where
// k is the lesser of m and n. Of the first k columns of R, and of the others:
//
//   da = (dq + conj(Q) (C + E)) R^-T, and conj(Q) dr
//   E = conj(R dr^T) of the other columns
//   C: Hermitian, with the upper triangle of dr R^T - Q^T dq - E, and with a
//   real diagonal
//
// the transpose of dR = U R and dQ = dA R^-1 - Q U, where U is upper
// triangular and U + U^H = Q^H dA R^-1 + (Q^H dA R^-1)^H. c is [k, k]. No
// element below the diagonals of R and dr is read.
template <typename V>
XLA_FFI_OPS_HD void QrGradient(int64_t m, int64_t n, const V* q, const V* r,
                               const V* dq, const V* dr, V* c, V* da) {
  const int64_t k = m < n ? m : n;
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      V sum{};
      for (int64_t l = k; l < n; ++l) {
        sum = MulAdd(r[i * n + l], dr[j * n + l], sum);
      }
      c[i * k + j] = Conj(sum);
    }
  }
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = i; j < k; ++j) {
      V sum = -c[i * k + j];
      for (int64_t l = j; l < k; ++l) {
        sum = MulAdd(dr[i * n + l], r[j * n + l], sum);
      }
      for (int64_t l = 0; l < m; ++l) {
        sum = MulSub(q[l * k + i], dq[l * k + j], sum);
      }
      if (i == j) sum = FromReal<V>(RealPart(sum));
      c[i * k + j] = c[i * k + j] + sum;
      if (i != j) c[j * k + i] = c[j * k + i] + Conj(sum);
    }
  }
  for (int64_t j = n - 1; j >= 0; --j) {
    const bool is_other = j >= k;
    const V* const factor = is_other ? dr + j : c + j;
    const int64_t width = is_other ? n : k;
    const V scale =
        is_other ? FromReal<V>(Splat<Real<V>>(1)) : Reciprocal(r[j * n + j]);
    for (int64_t i = 0; i < m; ++i) {
      V x = is_other ? V{} : dq[i * k + j];
      for (int64_t l = 0; l < k; ++l) {
        x = MulAdd(Conj(q[i * k + l]), factor[l * width], x);
      }
      for (int64_t l = j + 1; l < k; ++l) {
        x = MulSub(da[i * n + l], r[j * n + l], x);
      }
      da[i * n + j] = Times(x, scale);
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_QR_LANES_H_
