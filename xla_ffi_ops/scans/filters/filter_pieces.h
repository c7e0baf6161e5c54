// SPDX-License-Identifier: Apache-2.0
// Pieces of some signals: a row of lanes for each step, a lane for each signal.
#ifndef XLA_FFI_OPS_SCANS_FILTERS_FILTER_PIECES_H_
#define XLA_FFI_OPS_SCANS_FILTERS_FILTER_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/scans/filters/filter_sections.h"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/lanes/transpose_lanes.h"

namespace xla_ffi_ops::internal {

// Where steps of each lane are: the first one, and how far it is to the next.
template <typename T, int lanes>
struct LanesAt {
  // Whether a step of all lanes is contiguous.
  bool together() const {
    for (int i = 1; i < lanes; ++i) {
      if (at[i] != at[0] + i) return false;
    }
    return true;
  }
  LanesAt From(int64_t step) const {
    LanesAt moved = *this;
    for (T*& x : moved.at) x += step * stride;
    return moved;
  }

  T* at[lanes];
  int64_t stride;
};

// Where signals from `begin` on are: at(row, column) is where one is. Lanes
// that are not used repeat the last.
template <typename T, int lanes, typename At>
LanesAt<T, lanes> EachLane(int64_t stride, int64_t columns, int64_t begin,
                           int used, At at) {
  LanesAt<T, lanes> found = {{}, stride};
  int64_t row = begin / columns, column = begin % columns;
  for (int lane = 0; lane < lanes; ++lane) {
    found.at[lane] = at(row, column);
    if (lane + 1 < used && ++column == columns) {
      column = 0;
      ++row;
    }
  }
  return found;
}

// Where the signals of a result are, [rows, steps, columns].
template <int lanes, typename T>
LanesAt<T, lanes> LanesOf(T* x, int64_t steps, int64_t columns, int64_t begin,
                          int used) {
  return EachLane<T, lanes>(columns, columns, begin, used,
                            [=](int64_t row, int64_t column) {
                              return x + row * steps * columns + column;
                            });
}

// Where those of an operand are.
template <int lanes, typename T>
LanesAt<const T, lanes> LanesOf(const RecurrenceOperand<T>& x, int64_t columns,
                                int64_t begin, int used) {
  return EachLane<const T, lanes>(x.width, columns, begin, used,
                                  [&x](int64_t row, int64_t column) {
                                    return x.Row(row) + x.columns(column);
                                  });
}

// Copies n elements to a piece, or from it.
template <bool into, typename E, typename T>
XLA_FFI_OPS_HD void Copy(T* memory, E* piece, int64_t n) {
  if constexpr (into) {
    std::memcpy(piece, memory, n * sizeof(E));
  } else {
    std::memcpy(memory, piece, n * sizeof(E));
  }
}

// Copies as many whole squares as there are, to `piece` or from it, and returns
// how many steps that were. Steps of a lane are contiguous.
template <bool into, int lanes, typename E, typename T>
XLA_FFI_OPS_HD int64_t CopySquares(const LanesAt<T, lanes>& x, int64_t n,
                                   bool reverse, int used, E* piece) {
  constexpr int kPer = kFilterVector<E>;
  // Few lanes at a time: rows whose distance is a power of two share places in
  // the cache.
  const int64_t by = reverse ? -lanes : lanes;
  for (int lane = 0; lane + kPer <= used; lane += kPer) {
    T* memory[kPer];
    std::copy_n(x.at + lane, kPer, memory);
    E* step = piece + (reverse ? n - 1 : 0) * lanes + lane;
    for (int64_t done = 0; done + kPer <= n; done += kPer) {
      E* steps[kPer];
#pragma GCC unroll 8
      for (int i = 0; i < kPer; ++i, step += by) steps[i] = step;
      if constexpr (into) {
        CopySquare<E, kPer>(memory, steps);
      } else {
        CopySquare<E, kPer>(steps, memory);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kPer; ++i) memory[i] += kPer;
    }
  }
  return n / kPer * kPer;
}

// Copies n steps of one of the lanes.
template <bool into, int lanes, typename E, typename T>
XLA_FFI_OPS_HD void CopyLane(T* memory, int64_t stride, int64_t n, bool reverse,
                             E* piece) {
  if (n == 0) return;
  if (lanes == 1 && stride == 1 && !reverse) {
    return Copy<into>(memory, piece, n);
  }
  const int64_t by = reverse ? -lanes : lanes;
  E* step = piece + (reverse ? n - 1 : 0) * lanes;
  for (int64_t i = 0; i < n; ++i, step += by) {
    Copy<into>(memory + i * stride, step, 1);
  }
}

// Copies n steps of `used` lanes, to `piece` or from it.
template <bool into, int lanes, typename E, typename T>
void CopyPiece(const LanesAt<T, lanes>& x, int64_t n, bool reverse, int used,
               E* piece) {
  AtCpuLevel([=, &x]() XLA_FFI_OPS_INLINED {
    int64_t done = 0;  // of the lanes before `whole`
    int whole = 0;
    if constexpr (lanes > 1) {
      if (used == lanes && x.together()) {
        for (int64_t i = 0; i < n; ++i) {
          E* const step = piece + (reverse ? n - 1 - i : i) * lanes;
          Copy<into>(x.at[0] + i * x.stride, step, lanes);
        }
        return;
      }
      if (x.stride == 1) {
        done = CopySquares<into, lanes>(x, n, reverse, used, piece);
        whole = used / kFilterVector<E> * kFilterVector<E>;
      }
    }
    for (int lane = 0; lane < used; ++lane) {
      const int64_t first = lane < whole ? done : 0;
      CopyLane<into, lanes>(x.at[lane] + first * x.stride, x.stride, n - first,
                            reverse,
                            piece + (reverse ? 0 : first) * lanes + lane);
    }
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_FILTERS_FILTER_PIECES_H_
