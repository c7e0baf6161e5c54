// SPDX-License-Identifier: Apache-2.0
// Singular values and vectors, A = U diag(s) V^T, by one-sided Jacobi rotations
// (Drmac and Veselic, New fast and accurate Jacobi SVD algorithm, 2008), which
// also sort the columns (de Rijk, A one-sided Jacobi algorithm, 1989).
//
// Pairs of columns of A are rotated until A V has orthogonal ones. Their norms
// are the singular values. Householder's Q of A V is U, but for signs: it is
// orthogonal also where a norm is 0, and may have more columns than A.
//
// A matrix with more columns than rows is transposed. So these kernels speak of
// the longer side, of m numbers, and of the shorter one, of n.
#ifndef XLA_FFI_OPS_LINALG_SVD_LANES_H_
#define XLA_FFI_OPS_LINALG_SVD_LANES_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
#include "xla_ffi_ops/linalg/qr_lanes.h"
#include "xla_ffi_ops/linalg/scale.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {
namespace internal {

// In practice, fewer than 12 suffice.
inline constexpr int kMostSweeps = 30;

// Rotates two columns of m numbers so that they become orthogonal, and the
// longer one comes first; and `others` numbers behind each likewise. Returns
// whether a lane has rotated any.
template <typename V>
XLA_FFI_OPS_HD bool RotateColumns(int64_t m, int64_t others, V tolerance, V* x,
                                  V* y) {
  V a{}, b{}, p{};
  for (int64_t i = 0; i < m; ++i) {
    a = MulAdd(x[i], x[i], a);
    b = MulAdd(y[i], y[i], b);
    p = MulAdd(x[i], y[i], p);
  }
  const V one = Splat<V>(1);
  const V negligible = tolerance * a * b;
  const auto is_oblique =
      BitsOf<V>(p * p > Select(negligible > one, negligible, one));
  const auto swaps = BitsOf<V>(a < b);
  if (!Any(is_oblique | swaps)) return false;
  const V product = Where(is_oblique, V(p + p));
  const V difference = a - b;
  const V radius = Sqrt(MulAdd(difference, difference, V(product * product)));
  const V sum = math::Abs(difference) + radius;
  const V tangent = product / Select(sum > V{}, sum, one);
  const V cosine = one / Sqrt(MulAdd(tangent, tangent, one));
  const V sine = tangent * cosine;
  // By at most 45 degrees; and by 90 more if y is the longer one.
  const V c = Choose(swaps, sine, cosine), s = Choose(swaps, cosine, sine);
  for (int64_t i = 0; i < m + others; ++i) {
    const V u = x[i], v = y[i];
    x[i] = MulAdd(s, v, V(c * u));
    y[i] = MulSub(s, u, V(c * v));
  }
  return true;
}

// Where the columns of a matrix are, and numbers that are rotated with them.
template <typename V>
struct SvdColumns {
  int64_t m, n, others;
  V* w;      // [n, m + others]
  V none{};  // 0; NaN if the matrix has a number that is not finite
  PowerOfTwo<V> scale;
};

// Takes the columns of a, [rows, columns], and I behind them if there is room.
//
// The largest number becomes 1 / epsilon. Then a product of two columns that is
// less than 1 is a rounding error: |p| / |x| <= epsilon |A| for the longer one,
// x. And no square of a product overflows or underflows.
template <typename V>
XLA_FFI_OPS_HD void TakeColumns(int64_t rows, int64_t columns, const V* a,
                                SvdColumns<V>* to) {
  const bool is_wide = rows < columns;
  V most{}, none{};
  for (int64_t i = 0; i < rows * columns; ++i) {
    const V size = math::Abs(a[i]);
    none += size - size;
    most = Select(size > most, size, most);
  }
  to->none = none;
  to->scale = PowerOfTwoAt(most);
  const auto is_finite = BitsOf<V>(none == none);
  const V one = Splat<V>(1), large = Splat<V>(1 / Limits<V>::epsilon());
  const int64_t width = to->m + to->others;
  for (int64_t j = 0; j < to->n; ++j) {
    V* const column = to->w + j * width;
    for (int64_t i = 0; i < to->m; ++i) {
      const V x = is_wide ? a[j * columns + i] : a[i * columns + j];
      column[i] = Where(is_finite, V(x * to->scale.up * large));
    }
    for (int64_t i = 0; i < to->others; ++i) {
      column[to->m + i] = i == j ? one : V{};
    }
  }
}

// Rotates the columns until they are orthogonal and sorted. Writes their norms,
// the singular values.
template <typename V>
XLA_FFI_OPS_HD void OrthogonalizeColumns(const SvdColumns<V>& columns, V* s) {
  const int64_t m = columns.m, n = columns.n, width = m + columns.others;
  V tolerance{};  // the square of a product's rounding error
  for (int64_t i = 0; i < m; ++i) {
    tolerance += Splat<V>(Limits<V>::epsilon() * Limits<V>::epsilon());
  }
  bool rotates = true;
  for (int sweep = 0; rotates && sweep < internal::kMostSweeps; ++sweep) {
    rotates = false;
    for (int64_t i = 0; i < n - 1; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        rotates |= internal::RotateColumns(m, columns.others, tolerance,
                                           columns.w + i * width,
                                           columns.w + j * width);
      }
    }
  }
  const V small = Splat<V>(Limits<V>::epsilon());
  for (int64_t j = 0; j < n; ++j) {
    V sum{};
    for (int64_t i = 0; i < m; ++i) {
      const V x = columns.w[j * width + i];
      sum = MulAdd(x, x, sum);
    }
    s[j] = Sqrt(sum) * small * columns.scale.down + columns.none;
  }
}

// Writes the vectors: `longer`, [m, k], and `shorter`, [n, n], in columns, for
// columns that are orthogonal, with n others. `work` has m n + 2 n numbers. The
// largest number of each shorter vector is positive.
template <typename V>
XLA_FFI_OPS_HD void WriteVectors(const SvdColumns<V>& columns, int64_t k,
                                 V* work, V* longer, V* shorter) {
  const int64_t m = columns.m, n = columns.n, width = m + n;
  const V one = Splat<V>(1);
  for (int64_t j = 0; j < n; ++j) {
    const V* const column = columns.w + j * width;
    V most{}, first{};
    for (int64_t i = m; i < width; ++i) {
      const V size = math::Abs(column[i]);
      const auto is_larger = BitsOf<V>(size > most);
      first = Choose(is_larger, column[i], first);
      most = Choose(is_larger, size, most);
    }
    const V sign = math::WithSign(one, first);
    // Sums have no zeros with a sign, which are as many as other lanes rotate.
    for (int64_t i = 0; i < m; ++i) {
      work[i * n + j] = column[i] * sign + columns.none;
    }
    for (int64_t i = 0; i < n; ++i) {
      shorter[i * n + j] = column[m + i] * sign + columns.none;
    }
  }
  V* const taus = work + m * n;
  V* const signs = taus + n;
  QrFactor(m, n, work, taus);
  for (int64_t j = 0; j < n; ++j) {
    signs[j] = math::WithSign(one, work[j * n + j]);
    for (int64_t i = 0; i < m; ++i) longer[i * k + j] = work[i * n + j];
  }
  MultiplyReflectors(m, k, n, taus, longer);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      longer[i * k + j] = longer[i * k + j] * signs[j] + columns.none;
    }
    for (int64_t j = n; j < k; ++j) longer[i * k + j] += columns.none;
  }
}

// The transpose of a matrix, [rows, columns].
template <typename V>
XLA_FFI_OPS_HD void Turn(int64_t rows, int64_t columns, const V* from, V* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to[j * rows + i] = from[i * columns + j];
    }
  }
}

// x / by; 0 stays 0, since a result that is not used has cotangents of 0, even
// where its derivatives are infinite.
template <typename V>
XLA_FFI_OPS_HD V QuotientOrZero(V x, V by) {
  return Select(x == V{}, x, V(x / by));
}

// Of x = U^T dU and y = V^T dV, [k, k], what is between U and V^T in the
// cotangent of A; in x.
template <typename V>
XLA_FFI_OPS_HD void SvdCore(int64_t k, bool is_tall, bool is_wide, const V* s,
                            const V* ds, V* x, const V* y) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = i; j < k; ++j) {
      V* const upper = x + i * k + j;
      V* const lower = x + j * k + i;
      const V x_upper = *upper, x_lower = *lower;
      const V y_upper = y[i * k + j], y_lower = y[j * k + i];
      const V of_u = x_upper - x_lower, of_v = y_upper - y_lower;
      const V gap = (s[j] + s[i]) * (s[j] - s[i]);
      V above = QuotientOrZero(MulAdd(of_u, s[j], V(of_v * s[i])), gap);
      V below = QuotientOrZero(MulAdd(of_u, s[i], V(of_v * s[j])), gap);
      if (i == j) above = below = ds[i];
      if (is_tall) {
        above -= QuotientOrZero(x_upper, s[j]);
        below -= QuotientOrZero(x_lower, s[i]);
      }
      if (is_wide) {
        above -= QuotientOrZero(y_lower, s[i]);
        below -= QuotientOrZero(y_upper, s[j]);
      }
      *lower = below;
      *upper = above;
    }
  }
}

}  // namespace internal

// The numbers of memory that Svd needs for itself.
inline int64_t SvdScratch(int64_t rows, int64_t columns, int64_t k) {
  const int64_t m = std::max(rows, columns), n = std::min(rows, columns);
  if (k == 0) return m * n;
  return m * n + 2 * n + std::max(n * (m + n), m * k) + std::max(m * k, n * n);
}

// Singular values s in descending order, as many as the lesser of rows and
// columns, of a, [rows, columns]. If k is not 0, also the vectors: k of the
// longer side, which is the number of values or the length of that side.
template <typename V>
XLA_FFI_OPS_HD void Svd(int64_t rows, int64_t columns, int64_t k, const V* a,
                        V* u, V* s, V* vt, V* scratch) {
  const bool is_wide = rows < columns;
  const int64_t m = std::max(rows, columns), n = std::min(rows, columns);
  const int64_t others = k > 0 ? n : 0;
  V* const w = scratch + (k > 0 ? m * n + 2 * n : 0);
  internal::SvdColumns<V> found{m, n, others, w, {}, {}};
  internal::TakeColumns(rows, columns, a, &found);
  internal::OrthogonalizeColumns(found, s);
  if (k == 0) return;
  V* const turned = w + std::max(n * (m + n), m * k);
  V* const longer = is_wide ? turned : u;
  V* const shorter = is_wide ? u : turned;
  internal::WriteVectors(found, k, scratch, longer, shorter);
  if (is_wide) {
    internal::Turn(m, k, longer, vt);
  } else {
    internal::Turn(n, n, shorter, vt);
  }
}

// The cotangent of A, [m, n], for those of U, [m, k], s, and V^T, [k, n], where
// k is the lesser of m and n: with x = U^T dU, y = V^T dV,
//
//   da = U (C V^T + [m < n] s^-1 dV^T) + [m > n] dU s^-1 V^T
//   C[i, j] = ((x - x^T)[i, j] s[j] + (y - y^T)[i, j] s[i]) / (s[j]^2 - s[i]^2)
//             - [m > n] x[i, j] / s[j] - [m < n] y[j, i] / s[i]
//   C[i, i] = ds[i], and the same terms
//
// (Townsend, Differentiating the singular value decomposition, 2016). `work`
// has 2 k^2 + k n numbers. dU is overwritten.
template <typename V>
XLA_FFI_OPS_HD void SvdGradient(int64_t m, int64_t n, const V* u, const V* s,
                                const V* vt, V* du, const V* ds, const V* dvt,
                                V* work, V* da) {
  const int64_t k = m < n ? m : n;
  V* const x = work;
  V* const y = x + k * k;
  V* const inner = y + k * k;
  Multiply<Read::kTransposed>(k, m, k, u, du, x);
  Multiply<Read::kPlain, Read::kTransposed>(k, n, k, vt, dvt, y);
  internal::SvdCore(k, m > n, m < n, s, ds, x, y);
  Multiply(k, k, n, x, vt, inner);
  for (int64_t i = 0; m < n && i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      inner[i * n + j] += internal::QuotientOrZero(dvt[i * n + j], s[i]);
    }
  }
  Multiply(m, k, n, u, inner, da);
  for (int64_t i = 0; m > n && i < m; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      du[i * k + j] = internal::QuotientOrZero(du[i * k + j], s[j]);
    }
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < n; ++j) {
        da[i * n + j] = MulAdd(du[i * k + l], vt[l * n + j], da[i * n + j]);
      }
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_SVD_LANES_H_
