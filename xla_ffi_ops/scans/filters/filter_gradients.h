// SPDX-License-Identifier: Apache-2.0
// The backward pass of filters, for groups of signals.
#ifndef XLA_FFI_OPS_SCANS_FILTERS_FILTER_GRADIENTS_H_
#define XLA_FFI_OPS_SCANS_FILTERS_FILTER_GRADIENTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/scans/filters/filter.h"
#include "xla_ffi_ops/scans/filters/filter_back.h"
#include "xla_ffi_ops/scans/filters/filter_sections.h"
#include "xla_ffi_ops/scans/filters/filter_signals.h"

namespace xla_ffi_ops {
namespace internal {

// Goes back over some signals, piece by piece. What a section passes to the
// next is computed once more for each piece, from the states of a first pass.
template <typename T, int lanes>
class BackwardGroup : SignalGroup<T, lanes> {
  using Base = SignalGroup<T, lanes>;
  using Base::kPiece, Base::states_, Base::z_;

 public:
  explicit BackwardGroup(const FilterGradients<T>& call)
      : Base(call),
        call_(call),
        wants_sums_(call.db0 || call.db || call.da),
        passed_(std::max<int64_t>(0, call.sections - 1)),
        sums_((call.sections + 2 * states_) * lanes),
        memory_(call.order > 2 ? 5 * call.order : 0),
        pieces_(wants_sums_ ? call.sections + 2 : 1) {}

  void Run(int64_t begin, int used) {
    this->Take(begin, used);
    x_ = this->Of(call_.x);
    y_ = this->Of(call_.y);
    dy_ = this->Of(call_.dy);
    if (call_.dx) dx_ = this->Of(call_.dx, call_.n);
    std::fill(sums_.begin(), sums_.end(), T());
    if (wants_sums_ && passed_ > 0) KeepStates();
    this->Load(call_.dzf, z_);
    for (int64_t left = call_.n; left > 0;
         left = (left - 1) / kPiece * kPiece) {
      const int64_t done = (left - 1) / kPiece * kPiece;
      wants_sums_ ? GoBack<true>(done) : GoBack<false>(done);
    }
    const FilterSums<T> found = Sums(0);
    if (call_.db0) this->Store(found.b0, call_.sections, call_.db0);
    if (call_.db) this->Store(found.b, states_, call_.db);
    if (call_.da) this->Store(found.a, states_, call_.da);
    if (call_.dzi) this->Store(z_, states_, call_.dzi);
  }

 private:
  struct alignas(64) Piece {
    T at[kPiece * lanes] = {};
  };

  // Those of all sections but the last, where each piece begins.
  void KeepStates() {
    T* const piece = pieces_[0].at;
    kept_.clear();
    for (int64_t done = 0; done < call_.n; done += kPiece) {
      const int64_t each = passed_ * call_.order * lanes;
      kept_.insert(kept_.end(), z_, z_ + each);
      this->template CopyAfter<true>(done, x_, piece);
      for (int64_t s = 0; s < passed_; ++s) {
        SectionAtLevel<lanes>(this->Section(s), call_.order, piece,
                              this->Steps(done));
      }
    }
  }

  template <bool sums>
  void GoBack(int64_t done) {
    const int64_t sections = call_.sections, order = call_.order;
    const int64_t n = this->Steps(done);
    if constexpr (sums) {
      this->template CopyAfter<true>(done, x_, pieces_[0].at);
      this->template CopyAfter<true>(done, y_, pieces_[sections].at);
      for (int64_t s = 0; s < passed_; ++s) {
        FilterSection<T> section = this->Section(s);
        section.z =
            kept_.data() + (done / kPiece * passed_ + s) * order * lanes;
        pieces_[s + 1] = pieces_[s];
        SectionAtLevel<lanes>(section, order, pieces_[s + 1].at, n);
      }
    }
    T* const piece = pieces_.back().at;
    this->template CopyAfter<true>(done, dy_, piece);
    for (int64_t s = sections; s-- > 0;) {
      const T* const x = pieces_[sums ? s : 0].at;
      const T* const y = pieces_[sums ? s + 1 : 0].at;
      BackAtLevel<sums, lanes>(this->Section(s), Sums(s), order, memory_.data(),
                               x, y, piece, n);
    }
    if (call_.dx) this->template CopyAfter<false>(done, dx_, piece);
  }

  FilterSums<T> Sums(int64_t s) {
    const int64_t order = call_.order;
    T* const b = sums_.data() + (call_.sections + s * order) * lanes;
    return {sums_.data() + s * lanes, b, b + states_ * lanes};
  }

  const FilterGradients<T>& call_;
  const bool wants_sums_;
  const int64_t passed_;
  LanesAt<const T, lanes> x_, y_, dy_;
  LanesAt<T, lanes> dx_;
  std::vector<T> sums_, kept_;
  std::vector<BackLanes<T, lanes>> memory_;
  // x, what each section passes on, and at last the cotangents. Without sums,
  // the cotangents alone: more would not stay in the fastest cache.
  std::vector<Piece> pieces_;
};

}  // namespace internal

template <typename T>
void RunFilter(const FilterGradients<T>& call, int64_t begin, int64_t end) {
  internal::ForGroups<internal::BackwardGroup, T>(call, begin, end);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_FILTERS_FILTER_GRADIENTS_H_
