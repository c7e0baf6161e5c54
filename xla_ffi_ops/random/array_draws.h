// SPDX-License-Identifier: Apache-2.0
// The kernel of whole arrays, each with a key of its own. An element is drawn
// by a simple method, or by rejection (rejection.h).
//
// `Op` has the operands and results of a call: `key`, rows of keys; n, the
// length of an array; and whether keys are `partitionable`. For vectors V,
//   auto FromRow<V>(int64_t row, int64_t begin, int64_t count) const;
//   auto FromRows<V>(int64_t row, int64_t count) const;
// load the parameters of elements of a row, or of the first ones of rows. They
// say how to draw:
//   Bits<V> UsesRejection() const;  // a mask
//   auto Trial() const;             // also for lanes that do not use rejection
//   V Simple(const Places<Bits<V>>& places, SimpleKeys<K>* keys) const;
//   V Result(V simple, V rejection) const;
// and op.Store(V results, Bits<V> which, int64_t index) stores lanes of them,
// from element `index` of all arrays on.
#ifndef XLA_FFI_OPS_RANDOM_ARRAY_DRAWS_H_
#define XLA_FFI_OPS_RANDOM_ARRAY_DRAWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/random/array_kernel.h"
#include "xla_ffi_ops/random/columns.h"
#include "xla_ffi_ops/random/rejection.h"
#include "xla_ffi_ops/random/rounds.h"
#include "xla_ffi_ops/random/threefry.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::random {

namespace internal {

// The first `count` lanes.
template <typename U>
XLA_FFI_OPS_HD U FirstLanes(int64_t count) {
  U lane{};
  for (int i = 0; i < math::kLanesOf<U>; ++i) lane[i] = i;
  const uint32_t end = std::min<int64_t>(count, math::kLanesOf<U>);
  return math::Select(lane < end, ~U{}, U{});
}

template <typename V, typename Op>
class StretchDraws {
 public:
  using U = math::Bits<V>;

  XLA_FFI_OPS_HD StretchDraws(const Op& op, const Stretch& stretch)
      : op_(op),
        stretch_(stretch),
        key_{op.key[stretch.row][0], op.key[stretch.row][1]},
        keys_(key_, op.partitionable) {}

  XLA_FFI_OPS_HD void Draw(bool rejects, int* rounds) {
    typename Own::template SimpleKeys<uint32_t> simple_keys(key_,
                                                            op_.partitionable);
    for (int64_t i = stretch_.begin; i < stretch_.end; i += kLanes) {
      const Own own = Load(i);
      const auto places = PlacesAt(i);
      const U all = FirstLanes<U>(stretch_.end - i);
      V simple{}, rejection = Splat<V>(-1);
      if (math::Any((all & ~own.UsesRejection()) != 0)) {
        simple = own.Simple(places, &simple_keys);
      }
      if (rejects) {
        const auto trial = own.Trial();
        TrialsOf<decltype(trial)>(trial, places, &keys_)
            .LastOfAll(all, &rejection, rounds);
      }
      op_.Store(own.Result(simple, rejection), all, IndexOf(i));
    }
  }

  XLA_FFI_OPS_HD void Redraw(int before, int rounds) {
    for (int64_t i = stretch_.begin; i < stretch_.end; i += kLanes) {
      const Own own = Load(i);
      const auto trial = own.Trial();
      const auto places = PlacesAt(i);
      const U wanted = FirstLanes<U>(stretch_.end - i) & own.UsesRejection();
      V rejection{};
      const U old = TrialsOf<decltype(trial)>(trial, places, &keys_)
                        .Last(before, rounds, wanted, &rejection);
      op_.Store(own.Result(V{}, rejection), wanted & ~old, IndexOf(i));
    }
  }

 private:
  static constexpr int kLanes = math::kLanesOf<V>;
  using Own = decltype(std::declval<Op>().template FromRow<V>(0, 0, 0));
  template <typename Trial>
  using TrialsOf = Trials<V, uint32_t, Trial>;

  XLA_FFI_OPS_HD Own Load(int64_t i) const {
    return op_.template FromRow<V>(stretch_.row, i, stretch_.end - i);
  }
  XLA_FFI_OPS_HD Places<U> PlacesAt(int64_t i) const {
    return PlacesFrom<U>(i, op_.n, op_.partitionable);
  }
  int64_t IndexOf(int64_t i) const { return stretch_.row * op_.n + i; }

  const Op& op_;
  const Stretch stretch_;
  const Words<uint32_t> key_;
  RoundKeys<3, 0, uint32_t> keys_;
};

// Rows [begin, end) of one element.
template <typename V, typename Op>
XLA_FFI_OPS_HD void DrawSingles(const Op& op, int64_t begin, int64_t end) {
  using U = math::Bits<V>;
  for (int64_t i = begin; i < end; i += math::kLanesOf<V>) {
    const auto own = op.template FromRows<V>(i, end - i);
    using Own = std::decay_t<decltype(own)>;
    const Words<U> key = LoadKeys<U>(op.key, i, end - i);
    const U all = FirstLanes<U>(end - i), rejects = all & own.UsesRejection();
    const U second_word = op.partitionable ? ~U{} : U{};
    const Places<U> places{{}, {~U{}, second_word}};
    V simple{}, rejection = Splat<V>(-1);
    if (math::Any((all & ~rejects) != 0)) {
      typename Own::template SimpleKeys<U> keys(key, op.partitionable);
      simple = own.Simple(places, &keys);
    }
    if (math::Any(rejects != 0)) {
      RoundKeys<3, 0, U> keys(key, op.partitionable);
      const auto trial = own.Trial();
      Trials<V, U, decltype(trial)>(trial, places, &keys)
          .First(rejects, &rejection);
    }
    op.Store(own.Result(simple, rejection), all, i);
  }
}

template <typename V, typename Op>
XLA_FFI_OPS_HD bool AnyRejects(const Op& op, const Stretch& stretch) {
  for (int64_t i = stretch.begin; i < stretch.end; i += math::kLanesOf<V>) {
    const auto own = op.template FromRow<V>(stretch.row, i, stretch.end - i);
    const auto lanes = FirstLanes<math::Bits<V>>(stretch.end - i);
    if (math::Any((lanes & own.UsesRejection()) != 0)) return true;
  }
  return false;
}

// Calls body(V()) for a vector of up to 32 bytes: g++ 12 makes slow code of
// these conditions for 64 bytes.
template <typename Body>
void WithVectors(const Body& body) {
  AtCpuLevel([&](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    constexpr int kBytes = std::min(kVectorBytes<level>, kVectorBytes<3>);
    body(math::VecOfBytes<float, kBytes>{});
  });
}

}  // namespace internal

template <typename Op>
class ArrayKernelOf final : public ArrayKernel {
 public:
  explicit ArrayKernelOf(const Op& op) : op_(op) {}

  bool Rejects(const Stretch& stretch) const override {
    bool rejects = false;
    internal::WithVectors([&](auto vector) XLA_FFI_OPS_INLINED {
      rejects = internal::AnyRejects<decltype(vector)>(op_, stretch);
    });
    return rejects;
  }

  void Draw(const Stretch& stretch, bool rejects, int* rounds) const override {
    internal::WithVectors([&](auto vector) XLA_FFI_OPS_INLINED {
      Draws<decltype(vector)>(op_, stretch).Draw(rejects, rounds);
    });
  }

  void Redraw(const Stretch& stretch, int before, int rounds) const override {
    internal::WithVectors([&](auto vector) XLA_FFI_OPS_INLINED {
      Draws<decltype(vector)>(op_, stretch).Redraw(before, rounds);
    });
  }

  void DrawSingles(int64_t begin, int64_t end) const override {
    internal::WithVectors([&](auto vector) XLA_FFI_OPS_INLINED {
      internal::DrawSingles<decltype(vector)>(op_, begin, end);
    });
  }

 private:
  template <typename V>
  using Draws = internal::StretchDraws<V, Op>;

  const Op op_;
};

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_ARRAY_DRAWS_H_
