// SPDX-License-Identifier: Apache-2.0
// Finds the key at one place of a sorted row, without sorting it.
//
// A sample of the keys tells between which two it must be, but for bad luck.
// One pass counts what is below them, and keeps what is between them.
#ifndef XLA_FFI_OPS_SORTING_KEYS_SELECTION_H_
#define XLA_FFI_OPS_SORTING_KEYS_SELECTION_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/sorting/keys/sides.h"
#include "xla_ffi_ops/vec/sort/sort_keys.h"

namespace xla_ffi_ops::internal {

// Two keys between which that at kth probably is.
template <typename Key>
struct Bracket {
  Key least = std::numeric_limits<Key>::min();
  Key most = std::numeric_limits<Key>::max();

  template <typename U>
  static Bracket Of(const RowKeys<U>& keys, const U* x, int64_t n,
                    int64_t kth) {
    constexpr int64_t kSamples = 4096;
    // Of samples by chance, the place of kth has a standard deviation of 32 at
    // most: it is farther away once in 2000 times.
    constexpr int64_t kFar = 112;
    std::vector<Key> samples(kSamples);
    for (int64_t i = 0; i < kSamples; ++i) {
      // Floating point does not overflow here.
      const auto at = static_cast<int64_t>(i / double{kSamples} * n);
      samples[i] = keys.Encode(keys.Rank(x[at]));
    }
    SortKeys(samples.data(), kSamples);
    const auto place =
        static_cast<int64_t>(kth / static_cast<double>(n) * kSamples);
    Bracket bracket;
    if (place >= kFar) bracket.least = samples[place - kFar];
    if (place + kFar < kSamples) bracket.most = samples[place + kFar];
    return bracket;
  }
};

// The keys of a chunk, relative to two of them.
template <typename Key>
struct Between {
  Counts low;             // relative to the lower one
  Counts high;            // relative to the higher one
  std::vector<Key> keys;  // strictly between them

  template <typename U>
  void Find(const RowKeys<U>& row, const Bracket<Key>& bracket, const U* x,
            int64_t n) {
    Key room[kSideBlock], inside[kSideBlock];
    for (int64_t begin = 0; begin < n; begin += kSideBlock) {
      const int64_t size = std::min(n - begin, kSideBlock);
      const Key* const own = row.Find(x + begin, size, room);
      const Counts to_low = CountSides(own, size, bracket.least);
      const Counts to_high = CountSides(own, size, bracket.most);
      low.Add(to_low);
      high.Add(to_high);
      if (to_high.below <= to_low.up_to) continue;
      // There are keys between the two, so these do not overflow.
      const int64_t count =
          Keep(own, own, size, bracket.least + 1, bracket.most - 1, inside);
      keys.insert(keys.end(), inside, inside + count);
    }
  }

  // Relative to a key that is one of the two, or between them.
  Counts Around(const Bracket<Key>& bracket, Key pivot) const {
    if (pivot == bracket.least) return low;
    if (pivot == bracket.most) return high;
    Counts counts = CountSides(keys.data(), keys.size(), pivot);
    counts.Add({low.up_to, low.up_to});
    return counts;
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_SELECTION_H_
