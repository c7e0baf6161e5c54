// SPDX-License-Identifier: Apache-2.0
// Splits elements by their keys into those below a range, in it, and above.
#ifndef XLA_FFI_OPS_SORTING_KEYS_SIDES_H_
#define XLA_FFI_OPS_SORTING_KEYS_SIDES_H_

#include <cstdint>

namespace xla_ffi_ops::internal {

// Keys of a row that are written at a time: they stay in the nearest cache.
inline constexpr int64_t kSideBlock = 512;

// How many of n keys are less than a pivot, and how many are not greater.
struct Counts {
  int64_t below = 0;
  int64_t up_to = 0;

  void Add(const Counts& other) {
    below += other.below;
    up_to += other.up_to;
  }
};

template <typename Key>
Counts CountSides(const Key* keys, int64_t n, Key pivot);

// Where elements go that are below a range, in it, and above it.
template <typename Out>
struct Sides {
  Out* next[3];
  Out* end[3];
};

// Copies n values to their sides: those whose key is less than `least`, those
// whose key is greater than `most`, and the others. They keep their order.
template <typename Key, typename Out>
void CopyToSides(const Key* keys, const Out* values, int64_t n, Key least,
                 Key most, Sides<Out>* sides);

// Copies the values whose keys are from `least` to `most` to `kept`, which has
// room for n, and returns their number.
template <typename Key, typename Out>
int64_t Keep(const Key* keys, const Out* values, int64_t n, Key least, Key most,
             Out* kept);

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_SIDES_H_
