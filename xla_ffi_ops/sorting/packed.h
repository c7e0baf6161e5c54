// SPDX-License-Identifier: Apache-2.0
// A key and the index of its element make one number, the key in front: sorted
// as numbers they are in a stable order. If both have more than 64 bits, the
// last ones of the key are left out, and numbers that are equal without their
// index are sorted again.
#ifndef XLA_FFI_OPS_SORTING_PACKED_H_
#define XLA_FFI_OPS_SORTING_PACKED_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/buckets.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/sort_keys.h"

namespace xla_ffi_ops::internal {

template <typename U>
struct Range {
  U least = KeyFormat<U>::kMost;
  U most = 0;
};

// The elements of a row by their keys, which ascend as the result does.
template <typename U>
struct Keyed {
  KeyFormat<U> format;
  U flip;  // all ones for a descending order
  const U* x;

  XLA_FFI_OPS_HD U operator[](int64_t i) const {
    return format.EqualKey(x[i]) ^ flip;
  }

  Range<U> Find(int64_t begin, int64_t length) const {
    Range<U> range;
    AtCpuLevel([&, *this]() XLA_FFI_OPS_INLINED {
      U least = KeyFormat<U>::kMost, most = 0;
      for (int64_t i = begin; i < begin + length; ++i) {
        const U key = (*this)[i];
        least = key < least ? key : least;
        most = key > most ? key : most;
      }
      range = {least, most};
    });
    return range;
  }
};

// How a key and an index are packed.
template <typename U>
struct Packing {
  Packing(Range<U> range, int64_t n)
      : least(range.least),
        index_bits(BitWidth(n - 1)),
        key_bits(BitWidth(range.most - range.least)),
        dropped(std::max(0, key_bits + index_bits - 64)) {}

  template <typename Item>
  XLA_FFI_OPS_HD Item Pack(U key, int64_t i) const {
    const Item rest = static_cast<U>(key - least);
    return (rest >> dropped) << index_bits | static_cast<Item>(i);
  }
  template <typename Item>
  XLA_FFI_OPS_HD int64_t Index(Item item) const {
    return item & ((Item{1} << index_bits) - 1);
  }

  U least;
  int index_bits;
  int key_bits;
  int dropped;
};

// Sorts, and writes the indices to y.
template <typename Item, typename U>
void Finish(const Packing<U>& packing, const Keyed<U>& keys, Item* items,
            int64_t n, Item* more, int32_t* y, bool reversed) {
  SortKeys(items, n, packing.index_bits, more);
  if (packing.dropped > 0) {
    const auto less = [&](Item a, Item b) {
      const U x = keys[packing.Index(a)], y = keys[packing.Index(b)];
      return x < y || (x == y && a < b);
    };
    for (int64_t begin = 0, end; begin < n; begin = end) {
      const Item key = items[begin] >> packing.index_bits;
      end = begin + 1;
      while (end < n && items[end] >> packing.index_bits == key) ++end;
      if (end - begin > 1) std::sort(items + begin, items + end, less);
    }
  }
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    if (reversed) {
      for (int64_t i = 0; i < n; ++i) y[-i] = packing.Index(items[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = packing.Index(items[i]);
    }
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_PACKED_H_
