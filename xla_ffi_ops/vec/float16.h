// SPDX-License-Identifier: Apache-2.0
// float16 and bfloat16 as value types (XLA's headers give uint16_t for both)
// and the type to accumulate each floating-point type in.
//
// Conversions are plain integer arithmetic without branches, which compilers
// vectorize for every instruction set.
#ifndef XLA_FFI_OPS_VEC_FLOAT16_H_
#define XLA_FFI_OPS_VEC_FLOAT16_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

namespace internal {

template <typename To, typename From>
XLA_FFI_OPS_HD To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(static_cast<void*>(&to), &from, sizeof(to));
  return to;
}

// Rounds to odd: what is rounded once more to fewer bits is then as if it had
// been rounded once.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  uint32_t bits = BitCast<uint32_t>(nearest);
  bits -= (value > 0 ? back > value : back < value) ? 1u : 0u;
  bits |= back != value ? 1u : 0u;
  return BitCast<float>(bits);
}

}  // namespace internal

// IEEE 754 binary16. Converts from float and double by rounding to nearest
// even, once.
class Float16 {
 public:
  Float16() = default;
  explicit Float16(float value) : bits_(Round(value)) {}
  explicit Float16(double value) : Float16(internal::RoundToOdd(value)) {}

  // Assigning a float, not a Float16, is what compilers vectorize.
  Float16& operator=(float value) {
    bits_ = Round(value);
    return *this;
  }
  Float16& operator=(double value) {
    bits_ = Round(internal::RoundToOdd(value));
    return *this;
  }

  operator float() const {
    const uint32_t magnitude = bits_ & 0x7fffu;
    // Subnormals go through an integer conversion: XLA:CPU runs with
    // denormals-are-zero, which would flush them in any float arithmetic.
    const float subnormal =
        static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    const uint32_t rebias = magnitude >= 0x7c00u ? 224u << 23 : 112u << 23;
    const uint32_t normal = (magnitude << 13) + rebias;
    const uint32_t result =
        magnitude < 0x0400u ? internal::BitCast<uint32_t>(subnormal) : normal;
    return internal::BitCast<float>(
        result | (static_cast<uint32_t>(bits_ & 0x8000u) << 16));
  }

  // The same as float(Float16(value)), in fewer steps.
  static float Rounded(float value) {
    const uint32_t bits = internal::BitCast<uint32_t>(value);
    const float magnitude = internal::BitCast<float>(bits & 0x7fffffffu);
    const float power = internal::BitCast<float>(bits & 0x7f800000u);
    // The unit in the last place of this sum is that of float16: 2^-10 of the
    // power of 2, or of the smallest normal number.
    const float shift = (power < 0x1p-14f ? 0x1p-14f : power) * 0x1.8p13f;
    const float rounded = magnitude + shift - shift;
    const float result = magnitude >= 65520 ? HUGE_VALF : rounded;
    return internal::BitCast<float>(internal::BitCast<uint32_t>(result) |
                                    (bits & 0x80000000u));
  }

 private:
  static uint16_t Round(float value) {
    const uint32_t bits = internal::BitCast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Below the smallest normal (2^-14), adding 0.5 lets the FPU round at
    // 2^-24, the unit of float16's subnormals.
    const float shifted = internal::BitCast<float>(magnitude) + 0.5f;
    const uint32_t subnormal = internal::BitCast<uint32_t>(shifted) -
                               internal::BitCast<uint32_t>(0.5f);
    const uint32_t normal =
        (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // 65520: infinity
    result = magnitude > 0x7f800000u ? 0x7e00u : result;
    return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000u));
  }

  uint16_t bits_;
};

// The upper half of a float. Converts from float and double by rounding to
// nearest even, once.
class BFloat16 {
 public:
  BFloat16() = default;
  explicit BFloat16(float value) : bits_(Round(value)) {}
  explicit BFloat16(double value) : BFloat16(internal::RoundToOdd(value)) {}

  BFloat16& operator=(float value) {
    bits_ = Round(value);
    return *this;
  }
  BFloat16& operator=(double value) {
    bits_ = Round(internal::RoundToOdd(value));
    return *this;
  }

  operator float() const {
    return internal::BitCast<float>(static_cast<uint32_t>(bits_) << 16);
  }

  // The bits of BFloat16(value) are the upper half of these.
  static uint32_t RoundUpper(float value) {
    const uint32_t bits = internal::BitCast<uint32_t>(value);
    const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const uint32_t quiet_nan = bits | 0x400000u;
    return value != value ? quiet_nan : rounded;
  }

 private:
  static uint16_t Round(float value) {
    return static_cast<uint16_t>(RoundUpper(value) >> 16);
  }

  uint16_t bits_;
};

static_assert(sizeof(Float16) == 2 && std::is_trivial_v<Float16>);
static_assert(sizeof(BFloat16) == 2 && std::is_trivial_v<BFloat16>);

template <typename T>
inline constexpr bool kIs16BitFloat =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// What sums over values of type T are kept in: double for double, else float.
template <typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_FLOAT16_H_
