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
  constexpr auto kOne = math::Element<Bits<V>>{math::kBias<V>}
                        << math::kMantissa<V>;
  constexpr int kDropped = sizeof(kOne) * 8 - math::kMantissa<V>;
  return math::BitCast<V>((bits >> kDropped) | kOne) - 1;
}

// Of a uniform number in (-1, 1).
template <typename V>
XLA_FFI_OPS_HD V Normal(Bits<V> bits, double log1p_from = kLog1pFrom) {
  using E = math::Element<V>;
  constexpr E kLeast = math::Limits<V>::epsilon() / 2 - 1;
  const V u = MulAdd(Uniform<V>(bits), E(2), kLeast);
  const V above = Select(u > kLeast, u, Splat<V>(kLeast));
  return E(1.4142135623730951) * ErfInv(above, log1p_from);
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_DRAWS_H_
