// SPDX-License-Identifier: Apache-2.0
// Poisson-distributed numbers, with a rate in each lane, in the steps that
// jax.random.poisson takes.
#ifndef XLA_FFI_OPS_RANDOM_POISSON_LANES_H_
#define XLA_FFI_OPS_RANDOM_POISSON_LANES_H_

#include "xla_ffi_ops/random/draws.h"
#include "xla_ffi_ops/random/rounds.h"
#include "xla_ffi_ops/random/xla_math.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

// Hormann's transformed rejection, for rates from 10 on.
template <typename V>
class PoissonTrial {
 public:
  XLA_FFI_OPS_HD PoissonTrial(V rate, bool lanczos)
      : lanczos_(lanczos), rate_(rate), log_rate_(Log(rate)) {
    const V root = Sqrt(rate);
    b_ = MulAdd(root, 2.53f, 0.931f);
    a_ = MulAdd(b_, 0.02483f, -0.059f);
    inverse_alpha_ = 1.1328f / MulAdd(root, 2.53f, -2.469f) + 1.1239f;
    v_r_ = 0.9277f - 3.6224f / MulAdd(root, 2.53f, -1.069f);
  }

  XLA_FFI_OPS_HD Bits<V> Accepts(Bits<V> first, Bits<V> second,
                                 V* sample) const {
    const V u = Uniform<V>(first) - 0.5f, v = Uniform<V>(second);
    const V shifted = 0.5f - Abs(u);
    const V slope = (a_ + a_) / shifted + b_;
    const V k = Floor(V(MulAdd(slope, u, rate_) + 0.43f));
    *sample = k;
    const auto at_once = (shifted >= 0.07f) & (v <= v_r_);
    const auto rejects = (k < 0) | ((shifted < 0.013f) & (v > shifted));
    const V s = Log(V(v * inverse_alpha_ / (a_ / (shifted * shifted) + b_)));
    const V log = lanczos_ ? LogFactorial(k) : LogFactorialOfJax(k);
    const V t = MulAdd(k, log_rate_, -rate_) - log;
    return Select(at_once | (~rejects & (s <= t)), ~Bits<V>{}, Bits<V>{});
  }

 private:
  bool lanczos_;
  V rate_, log_rate_, a_, b_, inverse_alpha_, v_r_;
};

// Knuth's method, for rates below 10: as many uniform numbers as have a product
// above exp(-rate). NaN has none.
template <typename V, typename K>
XLA_FFI_OPS_HD V KnuthPoisson(V rate, const Places<Bits<V>>& places,
                              RoundKeys<2, 0, K>* keys) {
  V count = Splat<V>(-1), log_product{};
  for (int round = 0;; ++round) {
    const auto is_on = log_product > -rate;
    if (!math::Any(is_on)) return count;
    count = Select(is_on, count + 1, count);
    const auto bits = BitsAt(keys->Of(round)[1], places);
    log_product += Log(Uniform<V>(bits));
  }
}

// The rates of a vector of elements, and how these are drawn (array_draws.h).
template <typename V>
struct PoissonLanes {
  V rate;
  bool lanczos;  // Whether XLA has lgamma, or else jax.

  XLA_FFI_OPS_HD Bits<V> UsesRejection() const {
    return Select(rate >= 10, ~Bits<V>{}, Bits<V>{});
  }
  // A lane that does not use rejection accepts as soon as it would for 1e5.
  XLA_FFI_OPS_HD PoissonTrial<V> Trial() const {
    return {Select(UsesRejection() != 0, rate, Splat<V>(1e5f)), lanczos};
  }
  template <typename K>
  using SimpleKeys = RoundKeys<2, 0, K>;
  template <typename K>
  XLA_FFI_OPS_HD V Simple(const Places<Bits<V>>& places,
                          RoundKeys<2, 0, K>* keys) const {
    return KnuthPoisson(Select(UsesRejection() != 0, V{}, rate), places, keys);
  }
  XLA_FFI_OPS_HD V Result(V simple, V rejection) const {
    const V drawn = Select(UsesRejection() != 0, rejection, simple);
    return Select(rate == 0, V{}, drawn);
  }
};

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_POISSON_LANES_H_
