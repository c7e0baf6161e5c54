// SPDX-License-Identifier: Apache-2.0
// The backward pass of filters.
//
// Let v[t] be the cotangent of x in a filter that has only the poles of a
// section; behind the last step, v is dzf. Going back from there,
//   v[t] = dy[t] - a[1] v[t+1] - ... - a[m] v[t+m],
//   dx[t] = b[0] v[t] + ... + b[m] v[t+m],
//   db[k] = sum of x[t] v[t+k],  da[k] = -sum of y[t] v[t+k],
// and dzi is v[0] to v[m-1].
#ifndef XLA_FFI_OPS_SCANS_FILTER_GRADIENTS_H_
#define XLA_FFI_OPS_SCANS_FILTER_GRADIENTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/scans/filter.h"
#include "xla_ffi_ops/scans/filter_sections.h"
#include "xla_ffi_ops/scans/filter_signals.h"

namespace xla_ffi_ops {
namespace internal {

// What a section's backward pass adds up, a row of lanes for each number.
template <typename E>
struct FilterSums {
  E *b0, *b, *a;
};

// One vector at a time, if there are sums: its numbers then fit into registers.
template <typename E, int lanes>
using BackLanes = FilterLanes<E, lanes == 1 ? 1 : kFilterVector<E>>;

// Goes back over n steps of Lanes, whose dy becomes dx. v takes the place of
// the state. Sections of any order need memory for 5 Lanes for each order.
template <int kOrder, bool sums, int lanes, typename Lanes, typename E>
XLA_FFI_OPS_HD void RunBackOfOrder(const FilterSection<E>& section,
                                   const FilterSums<E>& to, int64_t order,
                                   Lanes* memory, const E* x, const E* y,
                                   E* signals, int64_t n) {
  const int64_t m = kOrder > 0 ? kOrder : order;
  Lanes own[kOrder > 0 ? 5 * kOrder : 1];
  Lanes* const b = kOrder > 0 ? own : memory;
  Lanes *const a = b + m, *const v = a + m, *const db = v + m,
               *const da = db + m;
  Lanes b0, db0 = {};
  b0.LoadFrom(section.b0);
#pragma GCC unroll 2
  for (int64_t k = 0; k < m; ++k) {
    b[k].LoadFrom(section.b + k * lanes);
    a[k].LoadFrom(section.a + k * lanes);
    v[k].LoadFrom(section.z + k * lanes);
    db[k] = da[k] = {};
  }
  for (int64_t t = n; t-- > 0;) {
    Lanes now, dx = {}, in, out;
    now.LoadFrom(signals + t * lanes);
    // The last one first: the step before waits for v[0].
#pragma GCC unroll 2
    for (int64_t k = m - 1; k >= 0; --k) now.Subtract(now, a[k], v[k]);
    dx.Add(dx, b0, now);
#pragma GCC unroll 2
    for (int64_t k = 0; k < m; ++k) dx.Add(dx, b[k], v[k]);
    dx.StoreTo(signals + t * lanes);
    if constexpr (sums) {
      in.LoadFrom(x + t * lanes);
      out.LoadFrom(y + t * lanes);
      db0.Add(db0, in, now);
#pragma GCC unroll 2
      for (int64_t k = 0; k < m; ++k) {
        db[k].Add(db[k], in, v[k]);
        da[k].Subtract(da[k], out, v[k]);
      }
    }
#pragma GCC unroll 2
    for (int64_t k = m - 1; k > 0; --k) v[k] = v[k - 1];
    if (m > 0) v[0] = now;
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < m; ++k) v[k].StoreTo(section.z + k * lanes);
  if constexpr (sums) {
    db0.AddTo(to.b0);
#pragma GCC unroll 2
    for (int64_t k = 0; k < m; ++k) {
      db[k].AddTo(to.b + k * lanes);
      da[k].AddTo(to.a + k * lanes);
    }
  }
}

template <bool sums, int lanes, typename E>
void RunBack(const FilterSection<E>& section, const FilterSums<E>& to,
             int64_t order, BackLanes<E, lanes>* memory, const E* x, const E* y,
             E* signals, int64_t n) {
  AtCpuLevel([=, &section, &to]() XLA_FFI_OPS_INLINED {
    if constexpr (!sums && lanes > 1) {
      // All at once: each step waits for the one before it.
      FilterLanes<E, lanes>* const none = nullptr;
      const FilterSection<E> own = section;
      if (order == 1) {
        return RunBackOfOrder<1, false, lanes>(own, to, 1, none, x, y, signals,
                                               n);
      }
      if (order == 2) {
        return RunBackOfOrder<2, false, lanes>(own, to, 2, none, x, y, signals,
                                               n);
      }
    }
    for (int i = 0; i < lanes; i += lanes == 1 ? 1 : kFilterVector<E>) {
      const FilterSection<E> own{section.b0 + i, section.b + i, section.a + i,
                                 section.z + i};
      const FilterSums<E> sum{to.b0 + i, to.b + i, to.a + i};
      if (order == 1) {
        RunBackOfOrder<1, sums, lanes>(own, sum, 1, memory, x + i, y + i,
                                       signals + i, n);
      } else if (order == 2) {
        RunBackOfOrder<2, sums, lanes>(own, sum, 2, memory, x + i, y + i,
                                       signals + i, n);
      } else {
        RunBackOfOrder<0, sums, lanes>(own, sum, order, memory, x + i, y + i,
                                       signals + i, n);
      }
    }
  });
}

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
        RunSection<lanes>(this->Section(s), call_.order, piece,
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
        RunSection<lanes>(section, order, pieces_[s + 1].at, n);
      }
    }
    T* const piece = pieces_.back().at;
    this->template CopyAfter<true>(done, dy_, piece);
    for (int64_t s = sections; s-- > 0;) {
      const T* const x = pieces_[sums ? s : 0].at;
      const T* const y = pieces_[sums ? s + 1 : 0].at;
      RunBack<sums, lanes>(this->Section(s), Sums(s), order, memory_.data(), x,
                           y, piece, n);
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
  internal::RunGroups<internal::BackwardGroup, T>(call, begin, end);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_FILTER_GRADIENTS_H_
