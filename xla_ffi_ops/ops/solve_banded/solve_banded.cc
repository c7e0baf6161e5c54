// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/solve_banded/solve_banded.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/lane_numbers.h"
#include "xla_ffi_ops/vec/lanes/lane_rows.h"

namespace xla_ffi_ops {
namespace internal {
namespace {

// `lanes` systems at once, in arrays whose last dimension are the lanes. All
// are changed.
template <typename T, int lanes>
struct BandedElimination {
  using N = Number<T, lanes>;
  using V = typename N::V;
  using Sizes = typename SizeOf<V>::type;
  using Real = typename SizeOf<T>::type;

  // Leaves the upper triangle in `rows`.
  XLA_FFI_OPS_HD void Eliminate() const {
    for (int64_t r = 0; r <= lower; ++r) {
      T* const end =
          std::copy(Row(r) + (lower - r) * lanes, Row(r + 1), Window(r));
      std::fill(end, Window(r + 1), T(0));
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t below = std::min(lower, n - 1 - i);
      Pivot(i, below);
      std::copy(Window(0), Window(1), Row(i));
      for (int64_t r = 1; r <= below; ++r) Reduce(i, r);
      if (i + 1 + lower < n) {
        std::copy(Row(i + 1 + lower), Row(i + 2 + lower), Window(lower));
      }
    }
  }

  // Leaves the results in b.
  XLA_FFI_OPS_HD void Substitute() const {
    V no, pivot;
    N::Read(singular, &no);
    for (int64_t i = n - 1; i >= 0; --i) {
      const T* const row = Row(i);
      const int64_t others = std::min(width - 1, n - 1 - i);
      N::Read(row, &pivot);
      pivot += no;
      if constexpr (lanes == 1) {  // Vectors are right-hand sides.
        for (int64_t c = others; c > 0; --c) {
          Subtract(row[c], Rhs(i + c), Rhs(i), Rhs(i), k);
        }
      }
      for (int64_t j = 0; j < k; ++j) {
        V x, quotient;
        N::Read(Rhs(i) + j * lanes, &x);
        for (int64_t c = lanes == 1 ? 0 : others; c > 0; --c) {
          V factor, other, product;
          N::Read(row + c * lanes, &factor);
          N::Read(Rhs(i + c) + j * lanes, &other);
          Multiply(factor, other, &product);
          x -= product;
        }
        Divide<V>(x, pivot, &quotient);
        N::Write(quotient, Rhs(i) + j * lanes);
      }
    }
  }

  // Rows i and those below it, from column i on.
  XLA_FFI_OPS_HD T* Window(int64_t r) const {
    return window + r * width * lanes;
  }
  XLA_FFI_OPS_HD T* Row(int64_t i) const { return rows + i * width * lanes; }
  XLA_FFI_OPS_HD T* Rhs(int64_t i) const { return b + i * k * lanes; }

  // Swaps row i with that of the `below` next ones which has the largest first
  // element. Of equal ones it is the first.
  XLA_FFI_OPS_HD void Pivot(int64_t i, int64_t below) const {
    Sizes largest, size, place{};
    V first, pivot, no;
    N::Read(Window(0), &first);
    Size(first, &largest);
    for (int64_t r = 1; r <= below; ++r) {
      N::Read(Window(r), &first);
      Size(first, &size);
      const auto is_larger = largest < size;
      const Sizes here = Sizes{} + static_cast<Real>(r);
      largest = is_larger ? size : largest;
      place = is_larger ? here : place;
    }
    for (int64_t r = 1; r <= below; ++r) {
      const auto swaps = place == static_cast<Real>(r);
      Swap(swaps, Window(0), Window(r), width);
      Swap(swaps, Rhs(i), Rhs(i + r), k);
    }
    const V zero{};
    V nan;
    Divide<V>(zero, zero, &nan);
    N::Read(Window(0), &pivot);
    N::Read(singular, &no);
    N::Write(pivot == zero ? nan : no, singular);
  }

  template <typename Mask>
  XLA_FFI_OPS_HD void Swap(const Mask& swaps, T* x, T* y, int64_t count) const {
    if constexpr (lanes == 1) {
      if (swaps) std::swap_ranges(x, x + count, y);
    } else {
      for (int64_t j = 0; j < count * lanes; j += lanes) {
        V first, second;
        N::Read(x + j, &first);
        N::Read(y + j, &second);
        N::Write(swaps ? second : first, x + j);
        N::Write(swaps ? first : second, y + j);
      }
    }
  }

  // Subtracts a multiple of row i from the r-th below it, which moves up in the
  // window, and to the left.
  XLA_FFI_OPS_HD void Reduce(int64_t i, int64_t r) const {
    V pivot, first, factor;
    N::Read(Row(i), &pivot);
    N::Read(Window(r), &first);
    Divide<V>(first, pivot, &factor);
    Subtract(factor, Row(i) + lanes, Window(r) + lanes, Window(r - 1),
             width - 1);
    N::Write(V{}, Window(r) - lanes);
    Subtract(factor, Rhs(i), Rhs(i + r), Rhs(i + r), k);
  }

  // to = x - factor * pivots
  XLA_FFI_OPS_HD void Subtract(const V& factor, const T* pivots, const T* x,
                               T* to, int64_t count) const {
    XLA_FFI_OPS_INDEPENDENT
    for (int64_t j = 0; j < count * lanes; j += lanes) {
      V value, pivot, product;
      N::Read(x + j, &value);
      N::Read(pivots + j, &pivot);
      Multiply(factor, pivot, &product);
      N::Write(value - product, to + j);
    }
  }

  int64_t n, k, lower, width;
  T* rows;      // [n, width]: row i from column i - lower on
  T* b;         // [n, k]
  T* window;    // [lower + 1, width]
  T* singular;  // 0, or NaN
};

// How many elements of memory a group of systems takes.
template <typename T>
int64_t BandedMemory(const BandedSystems<T>& s, int lanes) {
  const int64_t width = s.width();
  return (s.n * (width + s.k + 1) + (s.lower + 1) * width + 1) * lanes;
}

// Copies diagonals to rows, [n, width, lanes]. `line` has a diagonal meanwhile.
template <int lanes, typename T>
XLA_FFI_OPS_HD void CopyDiagonals(const BandedSystems<T>& s, const T* const* ab,
                                  T* line, T* rows) {
  const int64_t n = s.n, width = s.width();
  std::fill_n(rows, n * width * lanes, T(0));
  for (int64_t below = -s.upper; below <= s.lower; ++below) {
    const T* diagonals[lanes];
    for (int i = 0; i < lanes; ++i) {
      diagonals[i] = ab[i] + (s.diagonal + below) * n;
    }
    CopyLanes<true, lanes>(diagonals, n, line);
    T* const column = rows + (s.lower - below) * lanes;
    for (int64_t i = std::max<int64_t>(0, below); i < std::min(n, n + below);
         ++i) {
      std::copy_n(line + (i - below) * lanes, lanes,
                  column + i * width * lanes);
    }
  }
}

// `count` systems from `begin` on; other lanes are copies of the first.
template <int lanes, typename T>
void SolveGroup(const BandedSystems<T>& s, int64_t begin, int count,
                T* memory) {
  const int64_t n = s.n, k = s.k, width = s.width();
  const T *ab[lanes], *b[lanes];
  T* x[lanes];
  for (int i = 0; i < lanes; ++i) {
    const int64_t system = begin + (i < count ? i : 0);
    ab[i] = s.ab[system];
    b[i] = s.b[system];
    x[i] = s.x + system * n * k;
  }
  AtCpuLevel([&]() XLA_FFI_OPS_INLINED {
    T* const rhs = memory + n * width * lanes;
    T* const window = rhs + n * k * lanes;
    T* const singular = window + (s.lower + 1) * width * lanes;
    std::fill_n(singular, lanes, T(0));
    CopyDiagonals<lanes>(s, ab, singular + lanes, memory);
    CopyLanes<true, lanes>(b, n * k, rhs);
    const BandedElimination<T, lanes> group{n,      k,   s.lower, width,
                                            memory, rhs, window,  singular};
    group.Eliminate();
    group.Substitute();
    CopyLanes<false, lanes>(x, n * k, rhs);
  });
}

}  // namespace
}  // namespace internal

template <typename T>
void SolveBanded(const BandedSystems<T>& systems, int64_t begin, int64_t end) {
  constexpr int lanes = internal::kSystems<T>;
  const int64_t at_once =
      std::min(end - begin, SystemsAtOnce<T>(end - begin, systems.k));
  const std::unique_ptr<T[]> memory(
      new T[internal::BandedMemory(systems, at_once > 1 ? lanes : 1)]);
  for (int64_t next; begin < end; begin = next) {
    next = std::min(end, begin + at_once);
    const int count = static_cast<int>(next - begin);
    if (count > 1) {
      internal::SolveGroup<lanes>(systems, begin, count, memory.get());
    } else {
      internal::SolveGroup<1>(systems, begin, 1, memory.get());
    }
  }
}

template void SolveBanded(const BandedSystems<float>&, int64_t, int64_t);
template void SolveBanded(const BandedSystems<double>&, int64_t, int64_t);
template void SolveBanded(const BandedSystems<std::complex<float>>&, int64_t,
                          int64_t);
template void SolveBanded(const BandedSystems<std::complex<double>>&, int64_t,
                          int64_t);

}  // namespace xla_ffi_ops
