// SPDX-License-Identifier: Apache-2.0
// Filters some signals at once, piece by piece: each piece goes through all
// sections while it is in the fastest cache.
#ifndef XLA_FFI_OPS_SCANS_FILTER_SIGNALS_H_
#define XLA_FFI_OPS_SCANS_FILTER_SIGNALS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/scans/filter.h"
#include "xla_ffi_ops/scans/filter_sections.h"
#include "xla_ffi_ops/scans/transpose_lanes.h"

namespace xla_ffi_ops {
namespace internal {

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

// Copies n elements to a piece, or from it.
template <bool into, int n, typename E, typename T>
XLA_FFI_OPS_HD void Copy(T* memory, E* piece) {
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
  for (int lane = 0; lane + kPer <= used; lane += kPer) {
    for (int64_t done = 0; done + kPer <= n; done += kPer) {
      T* memory[kPer];
      E* steps[kPer];
#pragma GCC unroll 8
      for (int i = 0; i < kPer; ++i) {
        const int64_t step = reverse ? n - 1 - done - i : done + i;
        memory[i] = x.at[lane + i] + done;
        steps[i] = piece + step * lanes + lane;
      }
      if constexpr (into) {
        CopySquare<E, kPer>(memory, steps);
      } else {
        CopySquare<E, kPer>(steps, memory);
      }
    }
  }
  return n / kPer * kPer;
}

// Copies n steps of `used` lanes, to `piece` or from it.
template <bool into, int lanes, typename E, typename T>
void CopyPiece(const LanesAt<T, lanes>& x, int64_t n, bool reverse, int used,
               E* piece) {
  AtCpuLevel([=, &x]() XLA_FFI_OPS_INLINED {
    const bool together = lanes > 1 && used == lanes && x.together();
    int64_t done = 0;  // of the lanes before `whole`
    int whole = 0;
    if constexpr (lanes > 1) {
      if (!together && x.stride == 1) {
        done = CopySquares<into, lanes>(x, n, reverse, used, piece);
        whole = used / kFilterVector<E> * kFilterVector<E>;
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      E* const step = piece + (reverse ? n - 1 - i : i) * lanes;
      if (together) {
        Copy<into, lanes>(x.at[0] + i * x.stride, step);
        continue;
      }
      for (int lane = i < done ? whole : 0; lane < used; ++lane) {
        Copy<into, 1>(x.at[lane] + i * x.stride, step + lane);
      }
    }
  });
}

// The signals of a call that are filtered at once: those from `begin` on.
template <typename T, int lanes>
class SignalGroup {
 public:
  SignalGroup(const Filter<T>& call, int64_t begin, int used)
      : call_(call), used_(used) {
    const int64_t states = call.sections * call.order;
    numbers_.resize((call.sections + 3 * states) * lanes);
    b0_ = numbers_.data();
    b_ = b0_ + call.sections * lanes;
    a_ = b_ + states * lanes;
    z_ = a_ + states * lanes;
    for (int lane = 0; lane < used; ++lane) {
      const int64_t row = (begin + lane) / call.columns;
      const int64_t column = (begin + lane) % call.columns;
      Gather(call.b0, row, column, b0_ + lane);
      Gather(call.b, row, column, b_ + lane);
      Gather(call.a, row, column, a_ + lane);
      Gather(call.zi, row, column, z_ + lane);
      x_.at[lane] = call.x.Row(row) + call.x.columns(column);
      y_.at[lane] = call.y + row * call.n * call.columns + column;
      zf_[lane] = call.zf + row * states * call.columns + column;
    }
    x_.stride = call.x.width;
    y_.stride = call.columns;
    for (int lane = used; lane < lanes; ++lane) {
      x_.at[lane] = x_.at[0];
      y_.at[lane] = y_.at[0];
    }
  }

  void Run() {
    alignas(64) T piece[kPiece * lanes] = {};
    for (int64_t done = 0; done < call_.n; done += kPiece) {
      const int64_t n = std::min(kPiece, call_.n - done);
      const int64_t at = call_.reverse ? call_.n - done - n : done;
      CopyPiece<true, lanes>(x_.From(at), n, call_.reverse, used_, piece);
      for (int64_t s = 0; s < call_.sections; ++s) {
        const int64_t first = s * call_.order * lanes;
        const FilterSection<T> section{b0_ + s * lanes, b_ + first, a_ + first,
                                       z_ + first};
        RunSection<lanes>(section, call_.order, piece, n);
      }
      CopyPiece<false, lanes>(y_.From(at), n, call_.reverse, used_, piece);
    }
    for (int lane = 0; lane < used_; ++lane) {
      for (int64_t i = 0; i < call_.sections * call_.order; ++i) {
        zf_[lane][i * call_.columns] = z_[i * lanes + lane];
      }
    }
  }

 private:
  static constexpr int64_t kPiece = 128;  // of all lanes: 8 KiB

  static void Gather(const RecurrenceOperand<T>& x, int64_t row, int64_t column,
                     T* to) {
    const T* const from = x.Row(row) + x.columns(column);
    for (int64_t i = 0; i < x.steps; ++i) to[i * lanes] = from[i * x.width];
  }

  const Filter<T>& call_;
  const int used_;
  std::vector<T> numbers_;
  T *b0_, *b_, *a_, *z_;
  LanesAt<const T, lanes> x_;
  LanesAt<T, lanes> y_;
  T* zf_[lanes];
};

}  // namespace internal

template <typename T>
int64_t FilterSignalsAtOnce() {
  return internal::kFilterLanes<T>;
}

template <typename T>
void RunFilter(const Filter<T>& call, int64_t begin, int64_t end) {
  constexpr int kLanes = internal::kFilterLanes<T>;
  for (int64_t next; begin < end; begin = next) {
    next = std::min<int64_t>(end, begin + kLanes);
    if (next - begin == 1) {
      internal::SignalGroup<T, 1>(call, begin, 1).Run();
    } else {
      internal::SignalGroup<T, kLanes>(call, begin,
                                       static_cast<int>(next - begin))
          .Run();
    }
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_FILTER_SIGNALS_H_
