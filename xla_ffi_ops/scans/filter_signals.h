// SPDX-License-Identifier: Apache-2.0
// Filters some signals at once, piece by piece: each piece goes through all
// sections while it is in the fastest cache.
#ifndef XLA_FFI_OPS_SCANS_FILTER_SIGNALS_H_
#define XLA_FFI_OPS_SCANS_FILTER_SIGNALS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/scans/filter.h"
#include "xla_ffi_ops/scans/filter_pieces.h"
#include "xla_ffi_ops/scans/filter_sections.h"

namespace xla_ffi_ops {
namespace internal {

// The signals of a call that are filtered at once, those from `begin` on, and
// the numbers of their filters.
template <typename T, int lanes>
class SignalGroup {
 protected:
  static constexpr int64_t kPiece = 128;  // of all lanes: 8 KiB

  SignalGroup(const FilterOperands<T>& call, int64_t begin, int used)
      : call_(call),
        begin_(begin),
        used_(used),
        states_(call.sections * call.order),
        numbers_((call.sections + 3 * states_) * lanes) {
    b0_ = numbers_.data();
    b_ = b0_ + call.sections * lanes;
    a_ = b_ + states_ * lanes;
    z_ = a_ + states_ * lanes;
    Load(call.b0, b0_);
    Load(call.b, b_);
    Load(call.a, a_);
    Load(call.zi, z_);
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
  const int64_t begin_;
  const int used_;
  const int64_t states_;
  std::vector<T> numbers_;
  T *b0_, *b_, *a_, *z_;
};

template <typename T, int lanes>
struct ForwardGroup : SignalGroup<T, lanes> {
  ForwardGroup(const Filter<T>& call, int64_t begin, int used)
      : SignalGroup<T, lanes>(call, begin, used) {
    alignas(64) T piece[this->kPiece * lanes] = {};
    const auto x = this->Of(call.x);
    const auto y = this->Of(call.y, call.n);
    for (int64_t done = 0; done < call.n; done += this->kPiece) {
      this->template CopyAfter<true>(done, x, piece);
      for (int64_t s = 0; s < call.sections; ++s) {
        RunSection<lanes>(this->Section(s), call.order, piece,
                          this->Steps(done));
      }
      this->template CopyAfter<false>(done, y, piece);
    }
    this->Store(this->z_, this->states_, call.zf);
  }
};

// Calls Group<T, lanes>(call, begin, used) for signals [begin, end).
template <template <typename, int> class Group, typename T, typename Call>
void RunGroups(const Call& call, int64_t begin, int64_t end) {
  constexpr int kLanes = kFilterLanes<T>;
  for (int64_t next; begin < end; begin = next) {
    next = std::min<int64_t>(end, begin + kLanes);
    if (next - begin == 1) {
      Group<T, 1>(call, begin, 1);
    } else {
      Group<T, kLanes>(call, begin, static_cast<int>(next - begin));
    }
  }
}

}  // namespace internal

template <typename T>
int64_t FilterSignalsAtOnce() {
  return internal::kFilterLanes<T>;
}

template <typename T>
void RunFilter(const Filter<T>& call, int64_t begin, int64_t end) {
  internal::RunGroups<internal::ForwardGroup, T>(call, begin, end);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_FILTER_SIGNALS_H_
