// SPDX-License-Identifier: Apache-2.0
// Long sums without loss of accuracy.
#ifndef XLA_FFI_OPS_VEC_COMPENSATED_H_
#define XLA_FFI_OPS_VEC_COMPENSATED_H_

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

// A sum of many terms, right to about one unit in the last place. An Add costs
// more than an addition, so kernels add sums of blocks of terms.
//
// For double, its rounding errors are summed, too. Source: Ogita, Rump and
// Oishi, Accurate Sum and Dot Product, 2005, algorithm Sum2.
template <typename Acc>
class Compensated {
 public:
  XLA_FFI_OPS_HD void Add(Acc x) {
    const Acc next = sum_ + x;
    const Acc added = next - sum_;
    rest_ += (sum_ - (next - added)) + (x - added);
    sum_ = next;
  }
  // Where the sum is infinite or NaN, what it lacks is NaN.
  XLA_FFI_OPS_HD Acc value() const {
    return rest_ == rest_ ? sum_ + rest_ : sum_;
  }

 private:
  Acc sum_ = 0;
  Acc rest_ = 0;  // what the sum lacks
};

// In float, that would not do for millions of blocks.
template <>
class Compensated<float> {
 public:
  XLA_FFI_OPS_HD void Add(float x) { sum_ += x; }
  XLA_FFI_OPS_HD float value() const { return static_cast<float>(sum_); }

 private:
  double sum_ = 0;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_COMPENSATED_H_
