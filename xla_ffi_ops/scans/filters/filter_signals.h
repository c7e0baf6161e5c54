// SPDX-License-Identifier: Apache-2.0
// Filters some signals at once, piece by piece: each piece goes through all
// sections while it is in the fastest cache.
#ifndef XLA_FFI_OPS_SCANS_FILTERS_FILTER_SIGNALS_H_
#define XLA_FFI_OPS_SCANS_FILTERS_FILTER_SIGNALS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/scans/filters/filter.h"
#include "xla_ffi_ops/scans/filters/filter_pieces.h"
#include "xla_ffi_ops/scans/filters/filter_sections.h"

namespace xla_ffi_ops {
namespace internal {

// The signals of a call that are filtered at once, and the numbers of their
// filters. One object takes one group of signals after the other: to make an
// object takes as long as dozens of steps.
template <typename T, int lanes>
class SignalGroup {
 protected:
  static constexpr int64_t kPiece = (8 << 10) / (lanes * sizeof(T));  // 8 KiB

  explicit SignalGroup(const FilterOperands<T>& call)
      : call_(call),
        states_(call.sections * call.order),
        numbers_((call.sections + 3 * states_) * lanes) {
    b0_ = numbers_.data();
    b_ = b0_ + call.sections * lanes;
    a_ = b_ + states_ * lanes;
    z_ = a_ + states_ * lanes;
  }

  // Goes on with the signals from `begin` on.
  void Take(int64_t begin, int used) {
    begin_ = begin;
    used_ = used;
    Load(call_.b0, b0_);
    Load(call_.b, b_);
    Load(call_.a, a_);
    Load(call_.zi, z_);
  }

  FilterSection<T> Section(int64_t s) const {
    const int64_t first = s * call_.order * lanes;
    return {b0_ + s * lanes, b_ + first, a_ + first, z_ + first};
  }

  // All steps of each lane.
  void Load(const RecurrenceOperand<T>& x, T* to) const {
    CopyPiece<true, lanes>(Of(x), x.steps, false, used_, to);
  }
  void Store(T* from, int64_t steps, T* x) const {
    CopyPiece<false, lanes>(Of(x, steps), steps, false, used_, from);
  }

  LanesAt<const T, lanes> Of(const RecurrenceOperand<T>& x) const {
    return LanesOf<lanes>(x, call_.columns, begin_, used_);
  }
  LanesAt<T, lanes> Of(T* x, int64_t steps) const {
    return LanesOf<lanes>(x, steps, call_.columns, begin_, used_);
  }

  // The piece of signals after `done` steps, counted from where they begin.
  int64_t Steps(int64_t done) const { return std::min(kPiece, call_.n - done); }
  template <bool into, typename Signals>
  void CopyAfter(int64_t done, const Signals& x, T* piece) const {
    const int64_t n = Steps(done);
    const int64_t at = call_.reverse ? call_.n - done - n : done;
    CopyPiece<into, lanes>(x.From(at), n, call_.reverse, used_, piece);
  }

  const FilterOperands<T>& call_;
  int64_t begin_ = 0;
  int used_ = 0;
  const int64_t states_;
  std::vector<T> numbers_;
  T *b0_, *b_, *a_, *z_;
};

template <typename T, int lanes>
class ForwardGroup : SignalGroup<T, lanes> {
 public:
  explicit ForwardGroup(const Filter<T>& call)
      : SignalGroup<T, lanes>(call), y_(call.y), zf_(call.zf) {}

  void Run(int64_t begin, int used) {
    this->Take(begin, used);
    const auto& call = this->call_;
    const auto x = this->Of(call.x);
    const auto y = this->Of(y_, call.n);
    for (int64_t done = 0; done < call.n; done += this->kPiece) {
      this->template CopyAfter<true>(done, x, piece_);
      for (int64_t s = 0; s < call.sections; ++s) {
        SectionAtLevel<lanes>(this->Section(s), call.order, piece_,
                              this->Steps(done));
      }
      this->template CopyAfter<false>(done, y, piece_);
    }
    this->Store(this->z_, this->states_, zf_);
  }

 private:
  T *const y_, *const zf_;
  alignas(64) T piece_[SignalGroup<T, lanes>::kPiece * lanes] = {};
};

// Calls a Group for signals [begin, end): it takes some of them at a time.
template <template <typename, int> class Group, typename T, typename Call>
void ForGroups(const Call& call, int64_t begin, int64_t end) {
  constexpr int kLanes = kFilterLanes<T>;
  if (end - begin > 1) {
    Group<T, kLanes> group(call);
    for (; end - begin > 1; begin = std::min<int64_t>(end, begin + kLanes)) {
      group.Run(begin,
                static_cast<int>(std::min<int64_t>(end - begin, kLanes)));
    }
  }
  if (begin < end) Group<T, 1>(call).Run(begin, 1);
}

}  // namespace internal

template <typename T>
int64_t FilterSignalsAtOnce() {
  return internal::kFilterLanes<T>;
}

template <typename T>
void RunFilter(const Filter<T>& call, int64_t begin, int64_t end) {
  internal::ForGroups<internal::ForwardGroup, T>(call, begin, end);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_FILTERS_FILTER_SIGNALS_H_
