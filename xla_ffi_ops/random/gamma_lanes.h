// SPDX-License-Identifier: Apache-2.0
// Gamma-distributed numbers, with a key and a shape parameter in each lane.
//
// Marsaglia and Tsang, A simple method for generating gamma variables (2000),
// as jax.random.gamma takes its steps: a lane goes on until it accepts, so that
// a vector takes the steps of its slowest lane, and not an array those of its
// slowest element.
#ifndef XLA_FFI_OPS_RANDOM_GAMMA_LANES_H_
#define XLA_FFI_OPS_RANDOM_GAMMA_LANES_H_

#include "xla_ffi_ops/random/draws.h"
#include "xla_ffi_ops/random/threefry.h"
#include "xla_ffi_ops/random/xla_math.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

// The words of keys for lanes of V.
template <typename V>
using KeysOf = Words<math::Like<uint32_t, V>>;

// v = 1 + c x, for normal x, until it is positive.
template <bool partitionable, typename V>
XLA_FFI_OPS_HD V PositiveV(KeysOf<V> key, V c, double log1p_from, V* x) {
  using E = math::Element<V>;
  V v = Splat<V>(-1);
  *x = V{};
  for (auto is_on = v <= 0; math::Any(is_on); is_on = v <= 0) {
    KeysOf<V> keys[2];
    SplitKey<partitionable>(key, keys);
    const V draw =
        Normal<V>(BitsOfKey<partitionable, Bits<V>>(keys[1]), log1p_from);
    key = keys[0];  // Of a lane that is done, it is not used any more.
    *x = Select(is_on, draw, *x);
    v = Select(is_on, MulAdd(draw, c, E(1)), v);
  }
  return v;
}

// A number, or its logarithm. log1p_from is xla_math.h's.
template <bool partitionable, typename V>
XLA_FFI_OPS_HD V Gamma(KeysOf<V> key, V alpha, bool log_space,
                       double log1p_from) {
  using E = math::Element<V>;
  constexpr E kThird = E(1. / 3);
  // A shape below 1 is raised by 1, and made up for at the end.
  const auto is_large = alpha >= 1;
  const V raised = Select(is_large, alpha, alpha + 1);
  const V d = raised - kThird;
  const V c = kThird * Rsqrt(d);  // As XLA divides by a root.
  KeysOf<V> first[2];
  SplitKey<partitionable>(key, first);
  key = first[0];
  V cubed = Splat<V>(1);
  // jax does not begin where d is no finite number.
  Bits<V> is_on = Select(d * 0 == 0, ~Bits<V>{}, Bits<V>{});
  while (math::Any(is_on != 0)) {
    KeysOf<V> keys[3];
    SplitKey<partitionable>(key, keys);
    key = keys[0];
    V x;
    const V v = PositiveV<partitionable>(keys[1], c, log1p_from, &x);
    const V square = x * x, cube = v * v * v;
    const V u = Uniform<V>(BitsOfKey<partitionable, Bits<V>>(keys[2]));
    cubed = Select(is_on != 0, cube, cubed);
    const auto is_outside = u >= MulAdd(square * square, E(-0.0331), E(1));
    is_on &= Select(is_outside, ~Bits<V>{}, Bits<V>{});
    if (!math::Any(is_on != 0)) break;
    const V bound = MulAdd(square, E(0.5), d * ((1 - cube) + Log(cube)));
    is_on &= Select(Log(u) >= bound, ~Bits<V>{}, Bits<V>{});
  }
  const V last = Uniform<V>(BitsOfKey<partitionable, Bits<V>>(first[1]));
  if (log_space) {
    const V log = Log1p(V(-last), log1p_from);
    const V boost = Select(log == 0, V{}, log * (1 / alpha));
    return Log(d) + Log(cubed) + Select(is_large, V{}, boost);
  }
  const V sample = d * cubed;
  if (!math::Any(alpha < 1)) return sample;
  return Select(is_large, sample, sample * Pow(V(1 - last), V(1 / alpha)));
}

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_GAMMA_LANES_H_
