// SPDX-License-Identifier: Apache-2.0
// The order of each dtype, as that of unsigned integers: keys.
//
// It is the order of jax.lax.sort on the CPU. All NaNs are equal, and last.
// Zeros are equal, and so are subnormal numbers, of all types but float16: XLA
// has the processor take them for zero. What is equal is not the same: a sort
// has to keep the bits.
#ifndef XLA_FFI_OPS_VEC_KEY_FORMAT_H_
#define XLA_FFI_OPS_VEC_KEY_FORMAT_H_

#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops {

// How elements, whose bits are a U, become keys. The default is for integers
// without a sign, and for bool.
template <typename U>
struct KeyFormat {
  static constexpr int kBits = 8 * sizeof(U);
  static constexpr U kMost = std::numeric_limits<U>::max();

  U sign = 0;             // the highest bit, if it is one
  U magnitude = 0;        // all others, of floating-point numbers
  U least_normal = 0;     // magnitudes below this are equal to zero
  U infinity = kMost;     // magnitudes above this are NaN
  U kept_of_nan = kMost;  // NaNs become (nan & kept_of_nan) | set_in_nan
  U set_in_nan = 0;

  // All ones if it is so, else 0: with selects, g++ 12 makes no vectors.
  XLA_FFI_OPS_HD U NanMask(U bits) const {
    return static_cast<U>(-static_cast<U>((bits & magnitude) > infinity));
  }
  XLA_FFI_OPS_HD U ZeroMask(U bits) const {
    return static_cast<U>(-static_cast<U>((bits & magnitude) < least_normal));
  }
  XLA_FFI_OPS_HD bool IsNan(U bits) const { return NanMask(bits) != 0; }
  XLA_FFI_OPS_HD bool IsZero(U bits) const { return ZeroMask(bits) != 0; }
  XLA_FFI_OPS_HD bool IsNegative(U bits) const { return (bits & sign) != 0; }
  XLA_FFI_OPS_HD U Nan(U bits) const {
    return (bits & kept_of_nan) | set_in_nan;
  }

  // The key of an element that is no NaN; zeros have several.
  XLA_FFI_OPS_HD U Key(U bits) const {
    return bits ^ ((Mask(bits) & magnitude) | sign);
  }
  XLA_FFI_OPS_HD U Bits(U key) const {
    return key ^ ((Mask(static_cast<U>(~key)) & magnitude) | sign);
  }
  // The key of any element: equal ones have the same.
  XLA_FFI_OPS_HD U EqualKey(U bits) const {
    const U zero = ZeroMask(bits);
    return (Key(bits) & ~zero) | (sign & zero) | NanMask(bits);
  }

 private:
  // All ones if the highest bit is one.
  XLA_FFI_OPS_HD static U Mask(U bits) {
    return static_cast<U>(-(bits >> (kBits - 1)));
  }
};

template <typename U>
constexpr KeyFormat<U> SignedFormat() {
  KeyFormat<U> format;
  format.sign = U{1} << (8 * sizeof(U) - 1);
  return format;
}

// Of floating-point numbers with so many bits of mantissa in memory.
template <typename U>
constexpr KeyFormat<U> FloatFormat(int mantissa, bool subnormal_is_zero) {
  KeyFormat<U> format = SignedFormat<U>();
  format.magnitude = static_cast<U>(~format.sign);
  const U least = static_cast<U>(U{1} << mantissa);
  format.infinity = static_cast<U>(format.magnitude & ~(least - 1));
  format.least_normal = subnormal_is_zero ? least : 1;
  return format;
}

// Of elements of type T.
template <typename T>
constexpr auto FormatOf() {
  using U = std::make_unsigned_t<internal::IntOf<sizeof(T)>>;
  if constexpr (std::is_same_v<T, Float16>) {
    return FloatFormat<U>(10, /*subnormal_is_zero=*/false);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return FloatFormat<U>(7, true);
  } else if constexpr (std::is_floating_point_v<T>) {
    return FloatFormat<U>(std::numeric_limits<T>::digits - 1, true);
  } else if constexpr (std::is_signed_v<T>) {
    return SignedFormat<U>();
  } else {
    return KeyFormat<U>();
  }
}

using AnyFormat = std::variant<KeyFormat<uint8_t>, KeyFormat<uint16_t>,
                               KeyFormat<uint32_t>, KeyFormat<uint64_t>>;

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_KEY_FORMAT_H_
