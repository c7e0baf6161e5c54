// SPDX-License-Identifier: Apache-2.0
// Long sums without loss of accuracy.
#ifndef XLA_FFI_OPS_KIT_COMPENSATED_H_
#define XLA_FFI_OPS_KIT_COMPENSATED_H_

#include "xla_ffi_ops/kit/device.h"  // HD
#include "xla_ffi_ops/kit/formula.h"

namespace xla_ffi_ops {

// A sum whose rounding errors are summed, too: the result is off by about one
// unit in the last place, however many terms there are. Source: Ogita, Rump and
// Oishi, Accurate Sum and Dot Product, 2005, algorithm Sum2.
//
// Each Add takes six additions, so kernels add sums of blocks of terms.
template <typename Acc>
struct Compensated {
  Acc sum = 0;
  Acc rest = 0;  // what `sum` lacks

  HD void Add(Acc x) {
    const Acc next = sum + x;
    const Acc added = next - sum;
    rest += (sum - (next - added)) + (x - added);
    sum = next;
  }
  // Where the sum is infinite or NaN, `rest` is NaN.
  HD Acc value() const { return rest == rest ? sum + rest : sum; }
};

// Combines statistics: Sums with compensation.
template <typename S>
class CompensatedTotal {
 public:
  HD void Add(const S& s) { total_.Combine(s); }
  HD S value() const { return total_; }

 private:
  S total_ = S::Initial();
};

template <typename Acc, int n>
class CompensatedTotal<Sums<Acc, n>> {
 public:
  HD void Add(const Sums<Acc, n>& s) {
    for (int i = 0; i < n; ++i) totals_[i].Add(s.value[i]);
  }
  HD Sums<Acc, n> value() const {
    Sums<Acc, n> sums;
    for (int i = 0; i < n; ++i) sums.value[i] = totals_[i].value();
    return sums;
  }

 private:
  Compensated<Acc> totals_[n];
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_COMPENSATED_H_
