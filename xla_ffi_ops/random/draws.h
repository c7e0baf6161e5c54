// SPDX-License-Identifier: Apache-2.0
// Uniform and normal numbers of random bits, as jax.random makes them.
#ifndef XLA_FFI_OPS_RANDOM_DRAWS_H_
#define XLA_FFI_OPS_RANDOM_DRAWS_H_

#include "xla_ffi_ops/random/xla_math.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

// In [0, 1): the highest bits become those of a number in [1, 2).
template <typename V>
XLA_FFI_OPS_HD V Uniform(Bits<V> bits) {
  return math::BitCast<V>((bits >> 9) | 0x3F800000u) - 1;
}

// Of a uniform number in (-1, 1).
template <typename V>
XLA_FFI_OPS_HD V Normal(Bits<V> bits) {
  const V least = Splat<V>(-0x1.fffffep-1f);
  const V u = MulAdd(Uniform<V>(bits), 2.0f, -0x1.fffffep-1f);
  return 0x1.6a09e6p+0f * ErfInv(Select(u > least, u, least));
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_DRAWS_H_
