// SPDX-License-Identifier: Apache-2.0
// The keys that a row is sorted by.
#ifndef XLA_FFI_OPS_SORTING_KEYS_ROW_KEYS_H_
#define XLA_FFI_OPS_SORTING_KEYS_ROW_KEYS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/key_format.h"

namespace xla_ffi_ops::internal {

// What a sort has to know of a row first.
template <typename U>
struct Stats {
  U least = KeyFormat<U>::kMost;  // the least and the greatest rank
  U most = 0;
  bool zeros_differ = false;
  bool has_nan = false;

  void Add(const Stats& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    zeros_differ |= other.zeros_differ;
    has_nan |= other.has_nan;
  }
  bool has_special() const { return zeros_differ || has_nan; }
};

// The ranks of elements, which ascend in the result: their keys or, for a
// descending order, the complements of these. They are sorted as signed
// integers of at least 32 bits.
template <typename U>
struct RowKeys {
  using Key = std::conditional_t<sizeof(U) == 8, int64_t, int32_t>;

  KeyFormat<U> format;
  U descending;  // all ones if the order is descending, else 0

  XLA_FFI_OPS_HD U Rank(U bits) const {
    return format.EqualKey(bits) ^ descending;
  }
  XLA_FFI_OPS_HD U OfRank(U rank) const {
    return format.Bits(rank ^ descending);
  }
  XLA_FFI_OPS_HD Key Encode(U rank) const {
    return static_cast<Key>(rank ^ kSign);
  }
  XLA_FFI_OPS_HD U Decode(Key key) const {
    return OfRank(static_cast<U>(key) ^ kSign);
  }

  // Calls set(*this, i, rank) for all elements of x.
  template <typename Set>
  Stats<U> ForAll(const U* x, int64_t n, Set set) const {
    Stats<U> stats;
    AtCpuLevel([&stats, x, set, all = n, own = *this]() XLA_FFI_OPS_INLINED {
      // Copies that no store can change: otherwise this does not vectorize.
      const RowKeys self = own;
      const int64_t n = all;
      U least = KeyFormat<U>::kMost, most = 0, nans = 0, odd_zeros = 0;
      for (int64_t i = 0; i < n; ++i) {
        const U bits = x[i], rank = self.Rank(bits);
        set(self, i, rank);
        least = rank < least ? rank : least;
        most = rank > most ? rank : most;
        nans |= self.format.NanMask(bits);
        odd_zeros |= self.format.ZeroMask(bits) & bits;
      }
      stats = {least, most, odd_zeros != 0, nans != 0};
    });
    return stats;
  }
  Stats<U> Scan(const U* x, int64_t n) const {
    return ForAll(x, n, [](const RowKeys&, int64_t, U) XLA_FFI_OPS_INLINED {});
  }
  Stats<U> Write(const U* x, int64_t n, Key* keys) const {
    return ForAll(x, n,
                  [keys](const RowKeys& self, int64_t i, U rank)
                      XLA_FFI_OPS_INLINED { keys[i] = self.Encode(rank); });
  }
  // Writes the keys of x, and no more: in half the time of Write.
  void Encode(const U* x, int64_t n, Key* keys) const {
    AtCpuLevel([x, keys, all = n, own = *this]() XLA_FFI_OPS_INLINED {
      const RowKeys self = own;
      const int64_t n = all;
      for (int64_t i = 0; i < n; ++i) keys[i] = self.Encode(self.Rank(x[i]));
    });
  }
  // Returns the keys of x: x itself, or those that it writes to `room`.
  const Key* Find(const U* x, int64_t n, Key* room) const {
    if (AreElements()) return reinterpret_cast<const Key*>(x);
    Encode(x, n, room);
    return room;
  }
  // Writes the elements that keys stand for to y, which may be `keys`.
  void Read(const Key* keys, int64_t n, U* y) const {
    if (AreElements() && static_cast<const void*>(keys) == y) return;
    AtCpuLevel([keys, y, all = n, own = *this]() XLA_FFI_OPS_INLINED {
      const RowKeys self = own;
      const int64_t n = all;
      for (int64_t i = 0; i < n; ++i) y[i] = self.Decode(keys[i]);
    });
  }

 private:
  static constexpr U kSign = sizeof(U) < sizeof(Key)
                                 ? U{0}
                                 : static_cast<U>(U{1} << (8 * sizeof(U) - 1));

  // Whether each element is its own key.
  bool AreElements() const {
    return sizeof(U) == sizeof(Key) && descending == 0 &&
           format.magnitude == 0 && format.sign == kSign;
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_ROW_KEYS_H_
