// SPDX-License-Identifier: Apache-2.0
// Long sums without loss of accuracy.
#ifndef XLA_FFI_OPS_KIT_COMPENSATED_H_
#define XLA_FFI_OPS_KIT_COMPENSATED_H_

#include "xla_ffi_ops/kit/device.h"  // HD

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

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_COMPENSATED_H_
