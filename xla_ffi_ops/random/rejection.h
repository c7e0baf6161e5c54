// SPDX-License-Identifier: Apache-2.0
// Rejection sampling of a whole array, as jax.random's transformed rejection:
// rounds go on until each element has accepted once, and an element has what
// it accepted last. So it depends on the number of rounds, which is found while
// elements are drawn.
//
// `Trial` has the parameters of a vector V of elements:
//   Bits<V> Accepts(Bits<V> first, Bits<V> second, V* sample) const;
// makes a number of random bits, and returns a mask of lanes that accept it.
#ifndef XLA_FFI_OPS_RANDOM_REJECTION_H_
#define XLA_FFI_OPS_RANDOM_REJECTION_H_

#include "xla_ffi_ops/random/rounds.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

// The trials of a vector of elements in each round.
template <typename V, typename K, typename Trial>
class Trials {
 public:
  using Mask = math::Bits<V>;
  // A round's first key leads to the next round.
  using Keys = RoundKeys<3, 0, K>;

  XLA_FFI_OPS_HD Trials(const Trial& trial, const Places<Mask>& places,
                        Keys* keys)
      : trial_(trial), places_(places), keys_(keys) {}

  // Lanes of `wanted` that accept get the round's number. Returns a mask of
  // them.
  XLA_FFI_OPS_HD Mask Try(int round, Mask wanted, V* sample) const {
    const auto& keys = keys_->Of(round);
    V found;
    const Mask accepted =
        wanted & trial_.Accepts(BitsAt(keys[1], places_),
                                BitsAt(keys[2], places_), &found);
    *sample = math::Select(accepted != 0, found, *sample);
    return accepted;
  }

  // The first number that each lane accepts.
  XLA_FFI_OPS_HD void First(Mask open, V* sample) const {
    for (int round = 0; math::Any(open != 0); ++round) {
      open &= ~Try(round, open, sample);
    }
  }

  // The last numbers that lanes of `open` accept in the rounds [from, to).
  // Returns a mask of lanes that accept none.
  XLA_FFI_OPS_HD Mask Last(int from, int to, Mask open, V* sample) const {
    for (int round = to - 1; round >= from && math::Any(open != 0); --round) {
      open &= ~Try(round, open, sample);
    }
    return open;
  }

  // The last numbers that lanes of `all` accept in so many rounds, of which
  // there become more until each lane has accepted one.
  XLA_FFI_OPS_HD void LastOfAll(Mask all, V* sample, int* rounds) const {
    Mask open = all;
    for (int tried = 0; math::Any(open != 0); ++tried) {
      const bool is_more = tried == *rounds;
      const int round = is_more ? tried : *rounds - 1 - tried;
      open &= ~Try(round, is_more ? all : open, sample);
      *rounds += is_more;
    }
  }

 private:
  const Trial& trial_;
  const Places<Mask>& places_;
  Keys* keys_;
};

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_REJECTION_H_
