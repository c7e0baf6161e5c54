// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/tridiagonal_solve/tridiagonal_solve.h"

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

// `lanes` systems whose arrays are [n, lanes], [n, k, lanes]. All are changed.
template <typename T, int lanes>
struct Elimination {
  using N = Number<T, lanes>;
  using V = typename N::V;

  // Leaves an upper triangle: its diagonal in d, the next one in du, and the
  // one above in dl, from dl[1] on.
  XLA_FFI_OPS_HD void Eliminate() const {
    typename SizeOf<V>::type size, below_size;
    const V zero{};
    V diagonal, above = zero;
    N::Read(d, &diagonal);
    if (n > 1) N::Read(du, &above);
    for (int64_t i = 0; i + 1 < n; ++i) {
      V below, next, next_above = zero, factor, product;
      N::Read(dl + (i + 1) * lanes, &below);
      N::Read(d + (i + 1) * lanes, &next);
      if (i + 2 < n) N::Read(du + (i + 1) * lanes, &next_above);
      Size(diagonal, &size);
      Size(below, &below_size);
      const auto swaps = size < below_size;
      const V pivot = swaps ? below : diagonal;
      Divide<V>(swaps ? diagonal : below, pivot, &factor);
      const V first = swaps ? next : above;
      const V second = swaps ? next_above : zero;
      Multiply(factor, first, &product);
      diagonal = (swaps ? above : next) - product;
      Multiply(factor, second, &product);
      above = (swaps ? zero : next_above) - product;
      N::Write(pivot, d + i * lanes);
      N::Write(first, du + i * lanes);
      N::Write(second, dl + (i + 1) * lanes);
      T* const row = b + i * k * lanes;
      T* const next_row = row + k * lanes;
      for (int64_t j = 0; j < k * lanes; j += lanes) {
        V upper, lower, moved;
        N::Read(row + j, &upper);
        N::Read(next_row + j, &lower);
        const V stays = swaps ? lower : upper;
        Multiply(factor, stays, &moved);
        N::Write(stays, row + j);
        N::Write((swaps ? upper : lower) - moved, next_row + j);
      }
    }
    V nan;
    Divide<V>(zero, zero, &nan);
    N::Write(diagonal == zero ? nan : diagonal, d + (n - 1) * lanes);
  }

  // Leaves the results in b.
  XLA_FFI_OPS_HD void Substitute() const {
    for (int64_t i = n - 1; i >= 0; --i) {
      V diagonal, above = {}, second = {};
      N::Read(d + i * lanes, &diagonal);
      if (i + 1 < n) N::Read(du + i * lanes, &above);
      if (i + 2 < n) N::Read(dl + (i + 1) * lanes, &second);
      T* const row = b + i * k * lanes;
      for (int64_t j = 0; j < k * lanes; j += lanes) {
        V x, other, product;
        N::Read(row + j, &x);
        if (i + 1 < n) {
          N::Read(row + k * lanes + j, &other);
          Multiply(above, other, &product);
          x -= product;
        }
        if (i + 2 < n) {
          N::Read(row + 2 * k * lanes + j, &other);
          Multiply(second, other, &product);
          x -= product;
        }
        Divide<V>(x, diagonal, &other);
        N::Write(other, row + j);
      }
    }
  }

  int64_t n, k;
  T* dl;
  T* d;
  T* du;
  T* b;
};

// One system, whose vectors are right-hand sides.
template <typename T>
void SolveOne(const TridiagonalSystems<T>& s, int64_t system, T* memory) {
  const int64_t n = s.n;
  T* const b = s.x + system * n * s.k;
  std::copy_n(s.dl[system], n, memory);
  std::copy_n(s.d[system], n, memory + n);
  std::copy_n(s.du[system], n, memory + 2 * n);
  std::copy_n(s.b[system], n * s.k, b);
  AtCpuLevel([=, k = s.k]() XLA_FFI_OPS_INLINED {
    const Elimination<T, 1> one{n, k, memory, memory + n, memory + 2 * n, b};
    one.Eliminate();
    one.Substitute();
  });
}

// `count` systems from `begin` on; other lanes are copies of the first.
template <typename T>
void SolveSome(const TridiagonalSystems<T>& s, int64_t begin, int count,
               T* memory) {
  constexpr int lanes = kSystems<T>;
  const int64_t n = s.n, k = s.k;
  T* const b = memory + 3 * n * lanes;
  const T* rows[4][lanes];
  T* results[lanes];
  for (int i = 0; i < lanes; ++i) {
    const int64_t system = begin + (i < count ? i : 0);
    rows[0][i] = s.dl[system];
    rows[1][i] = s.d[system];
    rows[2][i] = s.du[system];
    rows[3][i] = s.b[system];
    results[i] = s.x + system * n * k;
  }
  AtCpuLevel([=, &rows, &results]() XLA_FFI_OPS_INLINED {
    for (int i = 0; i < 3; ++i) {
      CopyLanes<true, lanes>(rows[i], n, memory + i * n * lanes);
    }
    CopyLanes<true, lanes>(rows[3], n * k, b);
    const Elimination<T, lanes> some{
        n, k, memory, memory + n * lanes, memory + 2 * n * lanes, b};
    some.Eliminate();
    some.Substitute();
    CopyLanes<false, lanes>(results, n * k, b);
  });
}

}  // namespace
}  // namespace internal

template <typename T>
void SolveTridiagonal(const TridiagonalSystems<T>& systems, int64_t begin,
                      int64_t end) {
  const int64_t at_once =
      std::min(end - begin, SystemsAtOnce<T>(end - begin, systems.k));
  // One system alone needs no lanes.
  const int64_t size =
      at_once > 1 ? (3 + systems.k) * internal::kSystems<T> : 3;
  const std::unique_ptr<T[]> memory(new T[size * systems.n]);
  for (int64_t next; begin < end; begin = next) {
    next = std::min(end, begin + at_once);
    if (next - begin > 1) {
      internal::SolveSome(systems, begin, static_cast<int>(next - begin),
                          memory.get());
    } else {
      internal::SolveOne(systems, begin, memory.get());
    }
  }
}

template void SolveTridiagonal(const TridiagonalSystems<float>&, int64_t,
                               int64_t);
template void SolveTridiagonal(const TridiagonalSystems<double>&, int64_t,
                               int64_t);
template void SolveTridiagonal(const TridiagonalSystems<std::complex<float>>&,
                               int64_t, int64_t);
template void SolveTridiagonal(const TridiagonalSystems<std::complex<double>>&,
                               int64_t, int64_t);

}  // namespace xla_ffi_ops
