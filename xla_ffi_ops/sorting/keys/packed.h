// SPDX-License-Identifier: Apache-2.0
// Packs the key of an element into the high bits of a number, and its index
// into the low bits: the order of these numbers is stable. If key and index
// take more than 63 bits, keys are limited to a range in which most are, or
// else their lowest bits are dropped. Then numbers that differ only in their
// index are sorted again.
#ifndef XLA_FFI_OPS_SORTING_KEYS_PACKED_H_
#define XLA_FFI_OPS_SORTING_KEYS_PACKED_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/key_format.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

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
  U descending;  // all ones if the order is descending, else 0
  const U* x;

  XLA_FFI_OPS_HD U operator[](int64_t i) const {
    return format.EqualKey(x[i]) ^ descending;
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

inline int BitWidth(uint64_t value) {
  return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

// How a key and an index are packed.
template <typename U>
struct Packing {
  Packing(Range<U> range, int index_bits)
      : least(range.least),
        most(range.most),
        index_bits(index_bits),
        key_bits(BitWidth(range.most - range.least)),
        dropped(std::max(0, key_bits + index_bits - 63)) {}

  // For n keys, which are in `all`.
  Packing(const Keyed<U>& keys, int64_t n, Range<U> all)
      : Packing(all, BitWidth(n - 1)) {
    // For fewer keys, or where no bits are dropped, it does not pay.
    constexpr int64_t kLong = 64 * 1024, kSamples = 1024;
    if (n < kLong || dropped == 0) return;
    std::vector<U> samples(kSamples);
    for (int64_t i = 0; i < kSamples; ++i) samples[i] = keys[n / kSamples * i];
    std::sort(samples.begin(), samples.end());
    // Its ends are in place of all keys beyond them.
    const Range<U> some = {samples[kSamples / 8], samples[kSamples / 8 * 7]};
    const bool has_less = some.least > 0;
    const bool has_more = some.most < KeyFormat<U>::kMost;
    const Packing limited({static_cast<U>(some.least - has_less),
                           static_cast<U>(some.most + has_more)},
                          index_bits);
    if (limited.dropped > 0) return;
    *this = limited;
    is_limited = true;
  }

  bool is_exact() const { return dropped == 0 && !is_limited; }
  // Whether different keys may be packed as this one is.
  bool IsShared(U key) const {
    return dropped > 0 || (is_limited && (key <= least || key >= most));
  }

  template <typename Item>
  XLA_FFI_OPS_HD Item Pack(U key, int64_t i) const {
    if constexpr (sizeof(U) == 8) {  // Others always fit.
      key = key < least ? least : key;
      key = key > most ? most : key;
    }
    const U rest = static_cast<U>(key - least) >> dropped;
    return static_cast<Item>(rest) << index_bits | static_cast<Item>(i);
  }
  // Packs n elements, from `begin` on.
  template <typename Item>
  void PackAll(const Keyed<U>& keys, int64_t begin, int64_t n,
               Item* items) const {
    AtCpuLevel(
        [items, all = n, keys, begin, own = *this]() XLA_FFI_OPS_INLINED {
          // Copies that no store can change: otherwise this does not vectorize.
          const Keyed<U> from = keys;
          const Packing self = own;
          const int64_t n = all, first = begin;
          for (int64_t i = 0; i < n; ++i) {
            items[i] = self.template Pack<Item>(from[first + i], first + i);
          }
        });
  }
  // The least key that is packed as `packed`, above an index.
  U KeyOf(uint64_t packed) const {
    return static_cast<U>(least + static_cast<U>(packed << dropped));
  }
  template <typename Item>
  XLA_FFI_OPS_HD int64_t Index(Item item) const {
    return item & index_mask();
  }
  XLA_FFI_OPS_HD int64_t index_mask() const {
    return (int64_t{1} << index_bits) - 1;
  }

  U least;
  U most;
  int index_bits;
  int key_bits;
  int dropped;
  bool is_limited = false;
};

template <typename Item, typename U>
void SortItems(const Packing<U>& packing, const Keyed<U>& keys, Item* items,
               int64_t n) {
  SortKeys(items, n);
  if (packing.is_exact()) return;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    const Item key = items[begin] >> packing.index_bits;
    end = begin + 1;
    while (end < n && items[end] >> packing.index_bits == key) ++end;
    if (end == begin + 1 || !packing.IsShared(packing.KeyOf(key))) continue;
    Range<U> range;
    for (int64_t i = begin; i < end; ++i) {
      const U own = keys[packing.Index(items[i])];
      range.least = std::min(range.least, own);
      range.most = std::max(range.most, own);
    }
    if (range.least == range.most) continue;
    // Of keys that differ only in the dropped bits, now none are dropped.
    const Packing<U> rest(range, packing.index_bits);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = packing.Index(items[i]);
      items[i] = rest.template Pack<Item>(keys[index], index);
    }
    SortItems(rest, keys, items + begin, end - begin);
  }
}

// Sorts, and writes the indices to y.
template <typename Item, typename U>
void Finish(const Packing<U>& packing, const Keyed<U>& keys, Item* items,
            int64_t n, int32_t* y, bool reversed) {
  SortItems(packing, keys, items, n);
  AtCpuLevel([=, mask = packing.index_mask(), all = n]() XLA_FFI_OPS_INLINED {
    const int64_t n = all, kept = mask;
    if (reversed) {
      for (int64_t i = 0; i < n; ++i) y[-i] = items[i] & kept;
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = items[i] & kept;
    }
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_PACKED_H_
