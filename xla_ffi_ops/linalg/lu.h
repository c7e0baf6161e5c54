// SPDX-License-Identifier: Apache-2.0
// Gaussian elimination with partial pivoting, and what is solved with its
// factors (Golub and Van Loan, Matrix Computations, section 3.4).
//
// Lanes choose different rows. So rows stay where they are: the one that a lane
// chooses is copied, by selections, and is not read any more.
#ifndef XLA_FFI_OPS_LINALG_LU_H_
#define XLA_FFI_OPS_LINALG_LU_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
#include "xla_ffi_ops/linalg/triangular.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// Which rows lanes have chosen: numbers of R.
template <typename R>
struct Pivoting {
  R* places;  // [m]: where each row would be by now, if rows were exchanged
  R* pivots;  // [min(m, n)]: the row that is exchanged with each, as LAPACK's
  R* order;   // [m]: the row that becomes each row of the factors
  math::Bits<R>* chosen;  // [m]: for the elimination alone
};

namespace internal {

// In a column, of the rows that have been chosen for none before: the largest
// one of each lane is the t-th from now on. Of equal ones it is the first, as
// LAPACK counts. `here` is t. Leaves the bits of
// lanes that have chosen row i in found.chosen[i].
template <typename M, typename N, typename V>
XLA_FFI_OPS_HD void ChooseRow(M m, N n, int64_t t, Real<V> here, int64_t column,
                              const V* a, const Pivoting<Real<V>>& found) {
  using R = Real<V>;
  const R none = Fill<R>(-2), one = Fill<R>(1);
  R most = none, row{}, place{}, counted{};
  for (int64_t i = 0; i < m; ++i) {
    const R own = Size(a[i * n + column]);
    const R at = found.places[i];
    // NaN comes last. (Two conditions at once are slow in g++ 12.)
    const R size =
        Select(at >= here, Select(own == own, own, Fill<R>(-1)), none);
    const R before = Select(size == most, place, none);
    const R wins = Select(size > most, one, Select(at < before, one, R{}));
    most = Select(wins > R{}, size, most);
    row = Select(wins > R{}, counted, row);
    place = Select(wins > R{}, at, place);
    counted += one;
  }
  counted = R{};
  for (int64_t i = 0; i < m; ++i) {
    const auto is_chosen = row == counted;
    const R at = found.places[i];
    counted += one;
    found.chosen[i] = BitsOf<R>(is_chosen);
    found.places[i] = Select(is_chosen, here, Select(at == here, place, at));
  }
  found.order[t] = row;
  if (t < std::min<int64_t>(m, n)) found.pivots[t] = place;
}

// Copies each lane's chosen row of a, [m, n].
template <typename M, typename N, typename V>
XLA_FFI_OPS_HD void CopyRow(M m, N n, const math::Bits<Real<V>>* chosen,
                            const V* a, V* to) {
  constexpr int64_t kTogether = 4;  // A mask serves so many columns.
  int64_t j = 0;
  for (; j + kTogether <= n; j += kTogether) {
    V found[kTogether] = {};
    for (int64_t i = 0; i < m; ++i) {
#pragma GCC unroll 4
      for (int64_t c = 0; c < kTogether; ++c) {
        found[c] = Or(found[c], Where(chosen[i], a[i * n + j + c]));
      }
    }
    for (int64_t c = 0; c < kTogether; ++c) to[j + c] = found[c];
  }
  for (; j < n; ++j) {
    V found{};
    for (int64_t i = 0; i < m; ++i) {
      found = Or(found, Where(chosen[i], a[i * n + j]));
    }
    to[j] = found;
  }
}

}  // namespace internal

// Factors a, [m, n], which is overwritten: row t of `lu` has row t of L,
// without its diagonal of ones, and then row t of U. Of a pivot that is 0, the
// column of L is 0. The same is done to the rows of b, [m, k]: y = L^-1 P b.
template <typename M, typename N, typename V>
XLA_FFI_OPS_HD void LuFactor(M m, N n, V* a, V* lu,
                             const Pivoting<Real<V>>& found) {
  using R = Real<V>;
  const R one = Fill<R>(1);
  R here{};
  for (int64_t i = 0; i < m; ++i, here += one) found.places[i] = here;
  here = R{};
  for (int64_t t = 0; t < m; ++t, here += one) {
    // Behind the last column, rows stay in their order.
    internal::ChooseRow(m, n, t, here, std::min<int64_t>(t, n - 1), a, found);
    V* const chosen = lu + t * n;
    internal::CopyRow(m, n, found.chosen, a, chosen);
    if (t >= n) continue;
    const V pivot = chosen[t];
    const auto is_zero = Size(pivot) == R{};
    const V scale = Reciprocal(Select(is_zero, FromReal<V>(Fill<R>(1)), pivot));
    for (int64_t i = 0; i < m; ++i) {
      V* const other = a + i * n;
      const V factor = Times(other[t], scale);
      other[t] = factor;
      SubtractRow(factor, n - t - 1, chosen + t + 1, other + t + 1);
    }
  }
}

// Solves A x = b, [n, k], for the factors of A.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void LuSolve(N n, K k, const V* lu, const Real<V>* order,
                            const V* b, V* x) {
  using R = Real<V>;
  for (int64_t t = 0; t < n; ++t) {  // P b
    for (int64_t j = 0; j < k; ++j) {
      V found = b[j];
      R counted = Fill<R>(1);
      for (int64_t i = 1; i < n; ++i, counted += Fill<R>(1)) {
        found = Select(order[t] == counted, b[i * k + j], found);
      }
      x[t * k + j] = found;
    }
  }
  SolveTriangular(n, k, {true, false, false, true}, lu, x);
  SolveTriangular(n, k, {false, false, false, false}, lu, x);
}

// Solves A^T x = b, [n, k], for the factors of A. b is overwritten.
template <typename N, typename K, typename V>
XLA_FFI_OPS_HD void LuSolveTransposed(N n, K k, const V* lu,
                                      const Real<V>* order, V* b, V* x) {
  using R = Real<V>;
  SolveTriangular(n, k, {false, true, false, false}, lu, b);
  SolveTriangular(n, k, {true, true, false, true}, lu, b);
  R counted{};
  for (int64_t i = 0; i < n; ++i, counted += Fill<R>(1)) {  // P^T b
    for (int64_t j = 0; j < k; ++j) {
      V found = b[j];
      for (int64_t t = 1; t < n; ++t) {
        found = Select(order[t] == counted, b[t * k + j], found);
      }
      x[i * k + j] = found;
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_LU_H_
