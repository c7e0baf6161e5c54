// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of symmetric matrices, A = V diag(w) V^T:
// Householder's tridiagonal matrix, and then implicit QL sweeps with shifts by
// Wilkinson (Golub and Van Loan, Matrix Computations, section 8.3).
//
// Lanes sweep together, each over a block of its own; where a lane has no work,
// its rotation is the identity, and its numbers stay as they are.
#ifndef XLA_FFI_OPS_LINALG_EIGH_LANES_H_
#define XLA_FFI_OPS_LINALG_EIGH_LANES_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/lu_lanes.h"
#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// The numbers of memory that Eigh needs for itself.
constexpr int64_t EighScratch(int64_t n) { return 5 * n; }

namespace internal {

using math::Abs;
using math::Bits;

// Where a matrix's largest element is near 1, a sum of squares that is less
// counts as 0: squares that underflow would matter in it.
template <typename V>
inline constexpr Element<V> kNoSquares =
    Limits<V>::min() / Limits<V>::epsilon();

// Turns x, [m], into the v of H = 1 - tau v v^T, for which H x = (result, 0,
// ..., 0). v[0] = 1.
template <typename V>
XLA_FFI_OPS_HD V Reflector(int64_t m, V* x, V* tau) {
  V rest{};
  for (int64_t k = 1; k < m; ++k) rest = MulAdd(x[k], x[k], rest);
  const V first = x[0];
  const auto is_zero = rest < kNoSquares<V>;  // Then H = 1.
  const V reflected =
      math::WithSign(Sqrt(MulAdd(first, first, rest)), V(-first));
  const V scale = Select(is_zero, V{}, V(1 / (first - reflected)));
  *tau = Select(is_zero, V{}, V((reflected - first) / reflected));
  x[0] = Splat<V>(1);
  for (int64_t k = 1; k < m; ++k) x[k] *= scale;
  return Select(is_zero, first, reflected);
}

// A = Q T Q^T, where T has the diagonal d and e beside it, both [n]. Of a, the
// upper triangle is read; behind its diagonal, row i becomes the reflector
// whose tau is tau[i]. p is [n].
template <typename N, typename V>
XLA_FFI_OPS_HD void Tridiagonalize(N n, V* a, V* d, V* e, V* tau, V* p) {
  for (int64_t i = 0; i + 2 < n; ++i) {
    const int64_t m = n - 1 - i;
    V* const x = a + i * n + i + 1;
    V* const rest = x + n;  // The other rows and columns.
    d[i] = a[i * n + i];
    e[i] = Reflector(m, x, tau + i);
    for (int64_t r = 0; r < m; ++r) p[r] = V{};
    for (int64_t r = 0; r < m; ++r) {
      const V* const row = rest + r * n;
      V sum = row[r] * x[r];
      for (int64_t c = r + 1; c < m; ++c) {
        sum = MulAdd(row[c], x[c], sum);
        p[c] = MulAdd(row[c], x[r], p[c]);
      }
      p[r] += sum;
    }
    V dot{};
    for (int64_t r = 0; r < m; ++r) {
      p[r] *= tau[i];
      dot = MulAdd(p[r], x[r], dot);
    }
    const V part = tau[i] * dot * Splat<V>(0.5);
    for (int64_t r = 0; r < m; ++r) p[r] = MulSub(part, x[r], p[r]);
    for (int64_t r = 0; r < m; ++r) {
      V* const row = rest + r * n;
      for (int64_t c = r; c < m; ++c) {
        row[c] = MulSub(x[r], p[c], MulSub(p[r], x[c], row[c]));
      }
    }
  }
  for (int64_t i = n > 1 ? n - 2 : 0; i < n; ++i) {
    d[i] = a[i * n + i];
    e[i] = i + 1 < n ? a[i * n + i + 1] : V{};
  }
}

// Q^T of Tridiagonalize, in place of its reflectors.
template <typename N, typename V>
XLA_FFI_OPS_HD void FormRows(N n, V* a, const V* tau) {
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = i; j < n; ++j) a[i * n + j] = a[j * n + i] = V{};
    a[i * n + i] = Splat<V>(1);
    if (i == 0 || i + 1 == n) continue;
    const V* const x = a + (i - 1) * n;
    for (int64_t r = i; r < n; ++r) {
      V* const row = a + r * n;
      V dot{};
      for (int64_t c = i; c < n; ++c) dot = MulAdd(row[c], x[c], dot);
      dot *= tau[i - 1];
      for (int64_t c = i; c < n; ++c) row[c] = MulSub(dot, x[c], row[c]);
    }
  }
}

// Turns rows [begin, end] of `columns` columns of q, each with the next one,
// from the last pair to the first.
template <int columns, typename N, typename V>
XLA_FFI_OPS_HD void RotateColumns(N n, int64_t begin, int64_t end,
                                  const V* cosines, const V* sines, V* q) {
  V last[columns];
  for (int j = 0; j < columns; ++j) last[j] = q[end * n + j];
  for (int64_t i = end - 1; i >= begin; --i) {
    const V c = cosines[i], s = sines[i];
    V* const row = q + i * n;
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      const V x = row[j];
      row[n + j] = MulAdd(s, x, V(c * last[j]));
      last[j] = MulSub(s, last[j], V(c * x));
    }
  }
  for (int j = 0; j < columns; ++j) q[begin * n + j] = last[j];
}
template <typename N, typename V>
XLA_FFI_OPS_HD void RotateRows(N n, int64_t begin, int64_t end,
                               const V* cosines, const V* sines, V* q) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    RotateColumns<4>(n, begin, end, cosines, sines, q + j);
  }
  for (; j < n; ++j) RotateColumns<1>(n, begin, end, cosines, sines, q + j);
}

// A sweep: where it works, and its shift.
template <typename V>
struct Sweep {
  int64_t begin, end;  // Rows of any lane.
  Bits<V>* on;         // [n]: whether a lane turns a row and the next.
  V start;  // d[m] - shift, where m is the last row of the lane's block.
};

// Sets elements of e to 0 that are negligible, and finds each lane's first
// block of others.
template <typename V>
XLA_FFI_OPS_HD void FindBlocks(const V* d, V* e, Sweep<V>* sweep) {
  using B = Bits<V>;
  constexpr Element<V> kEpsilon = Limits<V>::epsilon();
  B inside{}, behind{};
  V first{}, second{}, beside{}, last{};
  for (int64_t i = sweep->begin; i < sweep->end; ++i) {
    // Beside zeros, what is below the roundings of the largest elements.
    const V least = MulAdd(V(Abs(d[i]) + Abs(d[i + 1])), Splat<V>(kEpsilon),
                           Splat<V>(kEpsilon * kEpsilon));
    const B is_kept = BitsOf<V>(Abs(e[i]) > least);
    e[i] = Where(is_kept, e[i]);
    behind |= inside & ~is_kept;
    const B here = is_kept & ~behind;
    const B begins = here & ~inside;
    first = Choose(begins, d[i], first);
    second = Choose(begins, d[i + 1], second);
    beside = Choose(begins, e[i], beside);
    last = Choose(here, d[i + 1], last);
    inside |= here;
    sweep->on[i] = here;
  }
  // The eigenvalue of the first two rows that is nearer to the first.
  const V ratio = (second - first) / (beside + beside);
  const V root = Sqrt(MulAdd(ratio, ratio, Splat<V>(1)));
  sweep->start = last - first + beside / (ratio + math::WithSign(root, ratio));
}

// Chases the bulge of a sweep from the end of each lane's block to its
// beginning. Leaves the rotations.
template <typename V>
XLA_FFI_OPS_HD void Chase(const Sweep<V>& sweep, V* d, V* e, V* cosines,
                          V* sines) {
  using B = Bits<V>;
  const V one = Splat<V>(1);
  V g = sweep.start, s = one, c = one, p{};
  B after{};
  for (int64_t i = sweep.end - 1; i >= sweep.begin; --i) {
    const B here = sweep.on[i];
    const V f = s * e[i], b = c * e[i];
    const V squares = MulAdd(f, f, V(g * g));
    const B turns = here & BitsOf<V>(squares > kNoSquares<V>);
    const V root = Sqrt(squares), inverse = 1 / root;
    c = Choose(turns, V(g * inverse), one);
    const V sine = Where(turns, V(f * inverse));
    e[i + 1] = Choose(B(here & after), Where(turns, root), e[i + 1]);
    const V own = d[i + 1] - p;
    const V change = MulAdd(c, V(b + b), V((d[i] - own) * sine));
    p = sine * change;
    d[i + 1] = Choose(here, V(own + p), d[i + 1]);
    g = Choose(here, V(MulAdd(c, change, V(-b))), g);
    s = Choose(here, sine, s);
    cosines[i] = c;
    sines[i] = sine;
    const B ends = i > sweep.begin ? B(here & ~sweep.on[i - 1]) : here;
    d[i] = Choose(ends, V(d[i] - p), d[i]);
    e[i] = Choose(ends, g, e[i]);
    after = here;
  }
}

// Makes d the eigenvalues of T, and applies the rotations to the rows of q. In
// a lane that does not converge, as in LAPACK, the result is set.
template <bool with_vectors, typename N, typename V>
XLA_FFI_OPS_HD Bits<V> Diagonalize(N n, V* d, V* e, V* q, V* cosines, V* sines,
                                   Bits<V>* on) {
  Sweep<V> sweep{0, n - 1, on, V{}};
  // LAPACK's limit.
  for (int64_t left = 30 * n; left > 0; --left) {
    FindBlocks(d, e, &sweep);
    int64_t& begin = sweep.begin;
    int64_t& end = sweep.end;
    while (begin < end && !Any(e[begin] != V{})) ++begin;
    while (begin < end && !Any(e[end - 1] != V{})) --end;
    if (begin == end) return Bits<V>{};
    Chase(sweep, d, e, cosines, sines);
    if (with_vectors) RotateRows(n, begin, end, cosines, sines, q);
  }
  Bits<V> failed{};
  for (int64_t i = 0; i < n; ++i) failed |= BitsOf<V>(e[i] != V{});
  return failed;
}

// x, [n], or -x: the first element of at least 9/10 of the largest size is
// positive. (The largest one itself is a matter of roundings where two are
// equal.)
template <typename N, typename V>
XLA_FFI_OPS_HD V SignOf(N n, const V* x) {
  V largest{};
  for (int64_t i = 0; i < n; ++i) {
    const V size = Abs(x[i]);
    largest = Select(size > largest, size, largest);
  }
  largest *= Splat<V>(0.9);
  V first{};
  for (int64_t i = n - 1; i >= 0; --i) {
    first = Select(Abs(x[i]) >= largest, x[i], first);
  }
  return math::WithSign(Splat<V>(1), first);
}

}  // namespace internal

// Eigenvalues w, [n], in ascending order, and eigenvectors, the columns of v,
// [n, n], of the symmetric matrix whose lower triangle is that of a, [n, n],
// which is overwritten. Without vectors, v is not written. `scratch` has
// EighScratch(n) numbers.
//
// Of each eigenvector, the first element of at least 9/10 of the largest size
// is positive. If an element of a is not finite, all results are NaN, but that
// of one row: a itself.
template <bool with_vectors, typename N, typename V>
XLA_FFI_OPS_HD void Eigh(N n, V* a, V* w, V* v, V* scratch) {
  using B = math::Bits<V>;
  using math::Abs;
  if (n == 1) {
    w[0] = a[0];
    if (with_vectors) v[0] = Splat<V>(1);
    return;
  }
  V* const d = scratch;
  V* const e = d + n;
  V* const cosines = e + n;
  V* const sines = cosines + n;
  B* const bits = reinterpret_cast<B*>(sines + n);
  // Squares neither overflow nor underflow: a power of two divides a.
  V largest = Splat<V>(Limits<V>::min()), none{};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      const V size = Abs(a[i * n + j]);
      largest = Select(size > largest, size, largest);
      none += size - size;
    }
  }
  const B is_finite = BitsOf<V>(none == V{});
  const V infinity = Splat<V>(Limits<V>::infinity());
  const V most = 1 / Splat<V>(Limits<V>::min());
  V power = Where(math::BitsOf(infinity), largest);
  power = Select(power < most, power, most);
  const V scale = 1 / power;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) {
      a[i * n + j] = Where(is_finite, V(a[j * n + i] * scale));
    }
  }
  internal::Tridiagonalize(n, a, d, e, cosines, sines);
  if (with_vectors) internal::FormRows(n, a, cosines);
  const B failed =
      internal::Diagonalize<with_vectors>(n, d, e, a, cosines, sines, bits) |
      ~is_finite;
  const V nan = Splat<V>(Limits<V>::quiet_NaN());
  const V one = Splat<V>(1);
  V* const rank = cosines;
  for (int64_t i = 0; i < n; ++i) {
    V before{};
    for (int64_t j = 0; j < i; ++j) {
      const auto is_before = d[j] <= d[i];
      before += Select(is_before, one, V{});
      rank[j] += Select(is_before, V{}, one);
    }
    rank[i] = before;
  }
  V counted{};
  for (int64_t i = 0; i < n; ++i, counted += one) {
    for (int64_t j = 0; j < n; ++j) bits[j] = BitsOf<V>(rank[j] == counted);
    internal::CopyRow(n, 1, 0, bits, d, w + i);
    // Zeros are positive: which sign they have may depend on other lanes.
    w[i] = Choose(failed, nan, V(w[i] * power + V{}));
    if (!with_vectors) continue;
    V* const x = sines;
    internal::CopyRow(n, n, 0, bits, a, x);
    const V sign = internal::SignOf(n, x);
    for (int64_t j = 0; j < n; ++j) {
      v[j * n + i] = Choose(failed, nan, V(x[j] * sign + V{}));
    }
  }
}

// The cotangent of A for dw and dv, those of w and v:
//
//   da = V (diag(dw) + F * (V^T dv)) V^T,  F[i, j] = 1 / (w[j] - w[i]),
//   F[i, i] = 0
//
// (Giles, An extended collection of matrix derivative results for forward and
// reverse mode algorithmic differentiation, 2008, section 3.1), symmetric only
// if dv makes it so. Where eigenvalues are equal, F is infinite. Where all of
// dv is 0, as if w alone were used, F does not count. All but w and dw are
// [n, n]; dv is overwritten.
template <typename V>
XLA_FFI_OPS_HD void EighGradient(int64_t n, const V* w, const V* v, const V* dw,
                                 V* dv, V* inner, V* da) {
  math::Bits<V> is_used{};
  for (int64_t i = 0; i < n * n; ++i) is_used |= math::BitsOf(dv[i]) << 1;
  Multiply<Read::kTransposed>(n, n, n, v, dv, inner);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (i == j) {
        inner[i * n + j] = dw[i];
      } else {
        const V gap = w[j] - w[i];
        inner[i * n + j] = Select(is_used != 0, V(inner[i * n + j] / gap), V{});
      }
    }
  }
  Multiply(n, n, n, v, inner, dv);
  Multiply<Read::kPlain, Read::kTransposed>(n, n, n, dv, v, da);
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_EIGH_LANES_H_
