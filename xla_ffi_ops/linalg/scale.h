// SPDX-License-Identifier: Apache-2.0
// Powers of two, by which numbers are scaled so that squares do not overflow.
#ifndef XLA_FFI_OPS_LINALG_SCALE_H_
#define XLA_FFI_OPS_LINALG_SCALE_H_

#include <cstdint>
#include <limits>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

// x * up is between 1 and 2, unless x is subnormal, 0, or nearly infinite; and
// down is 1 / up.
template <typename R>
struct PowerOfTwo {
  R up, down;
};

template <typename R>
XLA_FFI_OPS_HD PowerOfTwo<R> PowerOfTwoAt(R x) {
  using E = Element<R>;
  using B = math::Bits<R>;
  // Both powers are normal numbers then. NaN becomes the largest.
  constexpr E kMost = 1 / std::numeric_limits<E>::min();
  x = Select(x <= kMost, x, Splat<R>(kMost));
  x = Select(x >= Limits<R>::min(), x, Splat<R>(Limits<R>::min()));
  constexpr Element<B> kOne = Element<B>{math::kBias<R>} << math::kMantissa<R>;
  const B exponent =
      math::BitsOf(x) >> math::kMantissa<R> << math::kMantissa<R>;
  return {math::BitCast<R>(B(2 * kOne - exponent)), math::BitCast<R>(exponent)};
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_SCALE_H_
