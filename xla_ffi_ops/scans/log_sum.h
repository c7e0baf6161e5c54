// SPDX-License-Identifier: Apache-2.0
// The logarithm of a sum of exponentials.
//
// A sum is exp(reference) (1 + others). The reference is one of its elements,
// and no element is larger than reference + 1, or + 2 where sums were joined:
// the first one that is becomes the next reference. So nothing overflows, what
// becomes zero is too small to matter, and each element takes one exponential
// function and one logarithm.
#ifndef XLA_FFI_OPS_SCANS_LOG_SUM_H_
#define XLA_FFI_OPS_SCANS_LOG_SUM_H_

#include <limits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/exp_sums.h"

namespace xla_ffi_ops::internal {

// E is float or double. Sums are kept in double.
template <typename E>
struct LogSum {
  static constexpr E kNone = -std::numeric_limits<E>::infinity();

  // Of no elements: 1 + others is 0.
  E reference = kNone;
  double others = -1;

  XLA_FFI_OPS_HD static bool IsAbove(E x, E reference) {
    return x > reference + 1;
  }
  // exp(x - reference), also of two infinities that are equal.
  XLA_FFI_OPS_HD static E Exp(E x, E reference) {
    return ExpUpToZero(x == reference ? 0 : x - reference);
  }
  XLA_FFI_OPS_HD E Log() const {
    return reference + LogOnePlus(static_cast<E>(others));
  }
  // Adds an element that is to be the reference.
  XLA_FFI_OPS_HD void Raise(E x) {
    others = (1 + others) * Exp(reference, x);
    reference = x;
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_LOG_SUM_H_
