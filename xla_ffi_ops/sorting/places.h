// SPDX-License-Identifier: Apache-2.0
// Where the elements of a sorted row go.
#ifndef XLA_FFI_OPS_SORTING_PLACES_H_
#define XLA_FFI_OPS_SORTING_PLACES_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/row_stats.h"

namespace xla_ffi_ops::internal {

// Where the elements of a sorted row are.
template <typename U>
struct Places {
  KeyFormat<U> format;
  U* y;
  int64_t n;
  bool reversed;
  int64_t zeros_begin = 0;
  int64_t zeros = 0;
  int64_t nans = 0;

  // Writes `count` elements from the place `begin` on.
  template <typename Get>
  XLA_FFI_OPS_HD void Write(int64_t begin, int64_t count, Get get) const {
    if (reversed) {
      U* const last = y + n - 1 - begin;
      for (int64_t i = 0; i < count; ++i) last[-i] = get(i);
    } else {
      U* const first = y + begin;
      for (int64_t i = 0; i < count; ++i) first[i] = get(i);
    }
  }
  // Writes equal ordinary elements, of which `begin` are less.
  void WriteEqual(int64_t begin, int64_t count, U bits) const {
    Write(begin < zeros_begin ? begin : begin + zeros, count,
          [=](int64_t) { return bits; });
  }
  // Writes ordinary elements, of which `begin` are less.
  template <typename Key>
  void WriteKeys(int64_t begin, int64_t count, const Key* keys) const {
    AtCpuLevel([=, *this]() XLA_FFI_OPS_INLINED {
      const auto get = [=](const Key* from) XLA_FFI_OPS_INLINED {
        return [=, f = format](int64_t i) XLA_FFI_OPS_INLINED {
          return f.Bits(static_cast<U>(from[i]));
        };
      };
      const int64_t below =
          std::clamp<int64_t>(zeros_begin - begin, 0, zeros == 0 ? 0 : count);
      Write(begin, below, get(keys));
      const int64_t moved = begin + below >= zeros_begin ? zeros : 0;
      Write(begin + below + moved, count - below, get(keys + below));
    });
  }
};

// The elements of a chunk that are to be written in their own order.
struct Special {
  int64_t zero_place;
  int64_t nan_place;
};

// Calls ordinary(bits, count) for blocks of ordinary elements, and writes the
// others.
template <typename U, typename Ordinary>
XLA_FFI_OPS_HD void SplitSpecial(const Places<U>& places, bool zeros_differ,
                                 const U* x, int64_t n, Special special,
                                 Ordinary ordinary) {
  constexpr int64_t kBlock = 512;
  // Without a branch, each element is stored in both.
  U keys[kBlock], others[kBlock];
  const KeyFormat<U> f = places.format;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    int64_t key_count = 0;
    for (int64_t i = begin; i < end; ++i) {
      const U bits = x[i];
      const bool other = f.IsNan(bits) | (zeros_differ & f.IsZero(bits));
      keys[key_count] = bits;
      others[i - begin - key_count] = bits;
      key_count += !other;
    }
    ordinary(keys, key_count);
    // Likewise: zeros, out of what are NaNs then.
    const int64_t other_count = end - begin - key_count;
    const U* zeros = others;
    int64_t zero_count = 0;
    if (zeros_differ) {
      for (int64_t i = 0; i < other_count; ++i) {
        const U bits = others[i];
        keys[zero_count] = bits;
        others[i - zero_count] = bits;
        zero_count += !f.IsNan(bits);
      }
      zeros = keys;
    }
    const int64_t nan_count = other_count - zero_count;
    places.Write(special.zero_place, zero_count,
                 [&](int64_t i) XLA_FFI_OPS_INLINED { return zeros[i]; });
    places.Write(special.nan_place, nan_count,
                 [&](int64_t i)
                     XLA_FFI_OPS_INLINED { return f.Nan(others[i]); });
    special.zero_place += zero_count;
    special.nan_place += nan_count;
  }
}

template <typename U>
Places<U> PlacesOf(const KeyFormat<U>& format, const Stats<U>& stats, U* y,
                   int64_t n, bool reversed) {
  Places<U> places{format, y, n, reversed};
  places.nans = stats.nans;
  if (stats.zeros_differ) {
    places.zeros_begin = stats.negatives;
    places.zeros = stats.zeros;
  }
  return places;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_PLACES_H_
