// SPDX-License-Identifier: Apache-2.0
// Loops of jax.random that draw a whole array in each round: the keys of the
// rounds, and the bits that a round has for an element.
#ifndef XLA_FFI_OPS_RANDOM_ROUNDS_H_
#define XLA_FFI_OPS_RANDOM_ROUNDS_H_

#include <cstdint>

#include "xla_ffi_ops/random/threefry.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

// Where elements are in their array: the count of the block that has their
// bits, and masks of its words.
template <typename U>
struct Places {
  Words<U> count, used;
};

// Of the elements from `index` on, in an array of n. If keys are partitionable,
// there is a block for each of them, of which both words count; else one for
// each of the first half, of which the second word belongs to the element half
// an array further.
template <typename U>
XLA_FFI_OPS_HD Places<U> PlacesFrom(int64_t index, int64_t n,
                                    bool partitionable) {
  U lane{};
  for (int i = 0; i < math::kLanesOf<U>; ++i) lane[i] = i;
  const uint32_t low = static_cast<uint32_t>(index);
  const U at = lane + low;
  if (partitionable) {
    const U high = U{} + static_cast<uint32_t>(index >> 32);
    return {{math::Select(at < low, U(high + 1), high), at}, {~U{}, ~U{}}};
  }
  const uint32_t half = static_cast<uint32_t>(n - n / 2);
  const U is_second = math::Select(at >= half, ~U{}, U{});
  const U first = at - (is_second & half), second = first + half;
  // An odd number of counts is filled up with 0.
  const auto is_behind = second == static_cast<uint32_t>(n);
  return {{first, math::Select(is_behind, U{}, second)},
          {~is_second, is_second}};
}

// Keys may be shared by the elements, or be their own.
template <typename K, typename U>
XLA_FFI_OPS_HD U BitsAt(Words<K> key, const Places<U>& places) {
  const Words<U> block = Threefry(key, places.count);
  return (block.a & places.used.a) ^ (block.b & places.used.b);
}

// The keys of all rounds: each splits the key of the round before into n, of
// which number `next` is the next round's.
template <int n, int next, typename K>
class RoundKeys {
 public:
  using Keys = Words<K>[n];

  XLA_FFI_OPS_HD RoundKeys(Words<K> key, bool partitionable)
      : partitionable_(partitionable) {
    Split(key, kept_[0]);
  }

  // Those of a round. They are valid until the next call.
  XLA_FFI_OPS_HD const Keys& Of(int round) {
    if (round < kKept) {
      for (; last_kept_ < round; ++last_kept_) {
        Split(kept_[last_kept_][next], kept_[last_kept_ + 1]);
      }
      return kept_[round];
    }
    if (later_round_ < kKept || later_round_ > round) {
      Split(Of(kKept - 1)[next], later_);
      later_round_ = kKept;
    }
    for (; later_round_ < round; ++later_round_) {
      const Words<K> key = later_[next];
      Split(key, later_);
    }
    return later_;
  }

 private:
  // Keys that elements share are asked for again and again, up to the last
  // round of an array, which is below this. Others are asked for in order.
  static constexpr int kKept = math::kIsScalar<K> ? 32 : 1;

  XLA_FFI_OPS_HD void Split(Words<K> key, Keys& keys) const {
    partitionable_ ? SplitKey<true>(key, keys) : SplitKey<false>(key, keys);
  }

  const bool partitionable_;
  Keys kept_[kKept];
  int last_kept_ = 0;
  Keys later_;
  int later_round_ = 0;
};

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_ROUNDS_H_
