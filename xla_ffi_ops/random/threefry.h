// SPDX-License-Identifier: Apache-2.0
// JAX's random numbers: Threefry-2x32 with 20 rounds (Salmon et al., Parallel
// random numbers: as easy as 1, 2, 3; 2011), and how keys and numbers are made
// of its blocks.
//
// U is uint32_t, or a vector whose lanes are draws of their own.
#ifndef XLA_FFI_OPS_RANDOM_THREEFRY_H_
#define XLA_FFI_OPS_RANDOM_THREEFRY_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::random {

// Two words: a key, a count, or the block that a key makes of a count.
template <typename U>
struct Words {
  U a, b;
};

namespace internal {

template <int... rotations, typename U>
XLA_FFI_OPS_HD void Mix(Words<U>* x) {
  ((x->a += x->b,
    x->b = ((x->b << rotations) | (x->b >> (32 - rotations))) ^ x->a),
   ...);
}

}  // namespace internal

// Keys may be numbers where counts are vectors.
template <typename K, typename U>
XLA_FFI_OPS_HD Words<U> Threefry(Words<K> key, Words<U> count) {
  using internal::Mix;
  const K third = key.a ^ key.b ^ 0x1BD11BDA;
  Words<U> x = {count.a + key.a, count.b + key.b};
  Mix<13, 15, 26, 6>(&x);
  x = {x.a + key.b, x.b + (third + 1)};
  Mix<17, 29, 16, 24>(&x);
  x = {x.a + third, x.b + (key.a + 2)};
  Mix<13, 15, 26, 6>(&x);
  x = {x.a + key.a, x.b + (key.b + 3)};
  Mix<17, 29, 16, 24>(&x);
  x = {x.a + key.b, x.b + (third + 4)};
  Mix<13, 15, 26, 6>(&x);
  return {x.a + third, x.b + (key.a + 5)};
}

// The n keys that jax.random.split makes of a key. The configuration
// jax_threefry_partitionable says how: of the counts of the keys; or of all
// counts of words, of which the second half goes with the first.
template <bool partitionable, int n, typename U>
XLA_FFI_OPS_HD void SplitKey(Words<U> key, Words<U> (&keys)[n]) {
  U words[2 * n];
  for (int i = 0; i < n; ++i) {
    const U first = U{} + static_cast<uint32_t>(partitionable ? 0 : i);
    const U second = U{} + static_cast<uint32_t>(partitionable ? i : n + i);
    const Words<U> block = Threefry(key, Words<U>{first, second});
    words[partitionable ? 2 * i : i] = block.a;
    words[partitionable ? 2 * i + 1 : n + i] = block.b;
  }
  for (int i = 0; i < n; ++i) keys[i] = {words[2 * i], words[2 * i + 1]};
}

// The bits that jax.random.bits makes of a key, for the shape (): 32 for B of
// 4 bytes, 64 for B of 8.
template <bool partitionable, typename B, typename U>
XLA_FFI_OPS_HD B BitsOfKey(Words<U> key) {
  constexpr bool is_long = sizeof(B) == 2 * sizeof(U);
  constexpr uint32_t kSecond = is_long && !partitionable ? 1 : 0;
  const Words<U> block = Threefry(key, Words<U>{U{}, U{} + kSecond});
  if constexpr (is_long) {
    return __builtin_convertvector(block.a, B) << 32 |
           __builtin_convertvector(block.b, B);
  } else {
    return partitionable ? block.a ^ block.b : block.a;
  }
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_THREEFRY_H_
