// SPDX-License-Identifier: Apache-2.0
// Binomially distributed numbers, with a number of trials and a probability in
// each lane, in the steps that jax.random.binomial takes.
#ifndef XLA_FFI_OPS_RANDOM_BINOMIAL_LANES_H_
#define XLA_FFI_OPS_RANDOM_BINOMIAL_LANES_H_

#include "xla_ffi_ops/random/draws.h"
#include "xla_ffi_ops/random/rounds.h"
#include "xla_ffi_ops/random/xla_math.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

namespace internal {

// What Stirling's approximation of log(k!) lacks, for integers. From 10 on, jax
// has the number that its series gives for 9.
template <typename V>
XLA_FFI_OPS_HD V StirlingTail(V k) {
  constexpr float kTails[] = {0.0810614667953272f,  0.0413406959554092f,
                              0.0276779256849983f,  0.02079067210376509f,
                              0.0166446911898211f,  0.0138761288230707f,
                              0.0118967099458917f,  0.0104112652619720f,
                              0.00925546218271273f, 0.00833056343336287f};
  constexpr float kSquare = 100;
  constexpr float kBehind =
      (0.0833333358f - (0.00277777785f - 0.000793650805f / kSquare) / kSquare) /
      10;
  V tail = Splat<V>(kBehind);
  if (!math::Any(k <= 9)) return tail;
  for (int i = 0; i < math::kLanesOf<V>; ++i) {
    if (k[i] <= 9) tail[i] = kTails[k[i] > 0 ? static_cast<int>(k[i]) : 0];
  }
  return tail;
}

}  // namespace internal

// Hormann's transformed rejection, for at least 10 expected successes.
template <typename V>
class BinomialTrial {
 public:
  // Of probabilities up to 1/2.
  XLA_FFI_OPS_HD BinomialTrial(V n, V p) : n_(n) {
    const V deviation = Sqrt(V(n * p * (1 - p)));
    b_ = MulAdd(deviation, 2.53f, 1.15f);
    a_ = MulAdd(b_, 0.0248f, -0.0873f) + p * 0.01f;
    c_ = MulAdd(n, p, 0.5f);
    v_r_ = 0.92f - 4.2f / b_;
    odds_ = p / (1 - p);
    alpha_ = (5.1f / b_ + 2.83f) * deviation;
    const V mode = Floor(V((n + 1) * p));
    above_mode_ = (n - mode) + 1;
    at_mode_ = (mode + 0.5f) * Log(V((mode + 1) / (odds_ * above_mode_)));
    mode_tail_ = internal::StirlingTail(mode);
    above_mode_tail_ = internal::StirlingTail(V(n - mode));
  }

  // A lane whose parameters are not finite would never end: it accepts.
  XLA_FFI_OPS_HD Bits<V> Accepts(Bits<V> first, Bits<V> second,
                                 V* sample) const {
    const V u = Uniform<V>(first) - 0.5f, v = Uniform<V>(second);
    const V shifted = 0.5f - Abs(u);
    const V k = Floor(MulAdd((a_ + a_) / shifted + b_, u, c_));
    *sample = k;
    const auto at_once = (shifted >= 0.07f) & (v <= v_r_);
    const auto rejects = (k < 0) | (k > n_);
    const V s = Log(V(v * alpha_ / (a_ / (shifted * shifted) + b_)));
    const V above = (n_ - k) + 1;
    const V from_mode =
        MulAdd(V(n_ + 1), Log(V(above_mode_ / above)), at_mode_);
    const V smooth =
        MulAdd(V(k + 0.5f), Log(V(odds_ * above / (k + 1))), from_mode);
    const V t = smooth + mode_tail_ + above_mode_tail_ -
                internal::StirlingTail(k) - internal::StirlingTail(V(n_ - k));
    const auto is_endless = b_ != b_;
    return Select(at_once | (~rejects & (s <= t)) | is_endless, ~Bits<V>{},
                  Bits<V>{});
  }

 private:
  V n_, a_, b_, c_, v_r_, odds_, alpha_;
  V above_mode_, at_mode_, mode_tail_, above_mode_tail_;
};

// The numbers of trials and the probabilities of a vector of elements, and how
// these are drawn (array_draws.h).
template <typename V>
class BinomialLanes {
 public:
  XLA_FFI_OPS_HD BinomialLanes(V n, V p) {
    n_ = Floor(n);
    has_no_n_ = MaskOf((n != n) | (n < 0));
    is_infinite_ = MaskOf(n == math::kInfinity<V>);
    is_small_ = MaskOf(p < 0.5f);
    const V q = Select(is_small_ != 0, p, 1 - p);
    has_no_p_ = MaskOf((q != q) | (q < 0));
    is_nan_ = MaskOf(q != q);
    p_ = Select(has_no_p_ != 0, Splat<V>(0.01f), q);
    rejects_ = ~(has_no_n_ | MaskOf(n * p_ <= 10));
  }

  XLA_FFI_OPS_HD Bits<V> UsesRejection() const { return rejects_; }
  // A lane that does not use rejection accepts as soon as it would for these.
  XLA_FFI_OPS_HD BinomialTrial<V> Trial() const {
    return {Select(rejects_ != 0, n_, Splat<V>(1e4f)),
            Select(rejects_ != 0, p_, Splat<V>(0.5f))};
  }

  template <typename K>
  using SimpleKeys = RoundKeys<2, 1, K>;
  // As many geometrically distributed numbers as have a sum up to n.
  template <typename K>
  XLA_FFI_OPS_HD V Simple(const Places<Bits<V>>& places,
                          RoundKeys<2, 1, K>* keys) const {
    const V n = Select(rejects_ != 0, V{}, n_);
    const V log = Log1p(V(-Abs(p_)));  // With -0.0, jax would never end.
    V count = Splat<V>(-1), sum{};
    for (int round = 0;; ++round) {
      const auto is_on = sum <= n;
      if (!math::Any(is_on)) return count;
      count = Select(is_on, count + 1, count);
      const V u = Uniform<V>(BitsAt(keys->Of(round)[0], places));
      sum += Ceil(V(Log(u) / log));
    }
  }

  XLA_FFI_OPS_HD V Result(V simple, V rejection) const {
    const Bits<V> is_invalid = has_no_n_ | has_no_p_;
    const V drawn = Select(rejects_ != 0, rejection, simple);
    const V finite =
        Select(is_invalid != 0, Splat<V>(math::Limits<V>::quiet_NaN()), drawn);
    const V count = Select((is_infinite_ & ~is_invalid) != 0,
                           Splat<V>(math::kInfinity<V>), finite);
    const Bits<V> is_direct = is_small_ | has_no_n_ | is_nan_ | is_infinite_;
    return Select(is_direct != 0, count, n_ - count);
  }

 private:
  template <typename Mask>
  XLA_FFI_OPS_HD static Bits<V> MaskOf(Mask mask) {
    return Select(mask, ~Bits<V>{}, Bits<V>{});
  }

  V n_, p_;
  Bits<V> has_no_n_, is_infinite_, is_small_, has_no_p_, is_nan_, rejects_;
};

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_BINOMIAL_LANES_H_
