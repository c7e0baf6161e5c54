// SPDX-License-Identifier: Apache-2.0
// The operations of scans: sum, product, maximum and minimum, of numbers and of
// vectors, and the logarithm of a sum of exponentials.
#ifndef XLA_FFI_OPS_SCANS_SCAN_OPS_H_
#define XLA_FFI_OPS_SCANS_SCAN_OPS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/scans/elements.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/types.h"

namespace xla_ffi_ops::internal {

// Sums and products of float, and of less, are kept in double: the error of a
// long sum stays small, and the product of the lanes of a vector cannot
// overflow.
template <typename T>
using WideSum =
    std::conditional_t<std::is_same_v<T, float> || kIs16BitFloat<T>, double, T>;

// Integers are added and multiplied as unsigned ones, which wrap.
template <typename T>
using Unsigned =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                TypeTag<T>>::type;

// No bool and no complex numbers.
using ScanTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                        uint32_t, uint64_t, Float16, BFloat16, float, double>;

struct Sum {
  // The types of elements.
  using All = ScanTypes;
  // What a scan of elements of type T may start from.
  template <typename T>
  using Start = std::conditional_t<std::is_integral_v<T>, T, double>;
  // What elements of type T are converted to.
  template <typename T>
  using Elements = Numbers<Unsigned<T>>;
  // What these are combined in.
  template <typename T>
  using Wide = WideSum<T>;
  // Blocks of a long row are summed on their own, and then added up.
  static constexpr bool kInBlocks = true;
  // Whether a handler returns the total alone: only then it is compiled.
  static constexpr bool kHasTotals = true;

  template <typename T>
  static constexpr T Identity() {
    return static_cast<T>(-0.0);  // 0.0 would turn -0.0 into 0.0.
  }
  template <typename V>
  XLA_FFI_OPS_HD static void Combine(const V& left, V* right) {
    *right = left + *right;
  }
};

struct Product {
  using All = ScanTypes;
  template <typename T>
  using Start = Sum::Start<T>;
  template <typename T>
  using Elements = Numbers<Unsigned<T>>;
  template <typename T>
  using Wide = WideSum<T>;
  // The product of a block may overflow where its base is 0; that gives NaN.
  static constexpr bool kInBlocks = false;
  static constexpr bool kHasTotals = false;

  template <typename T>
  static constexpr T Identity() {
    return 1;
  }
  template <typename V>
  XLA_FFI_OPS_HD static void Combine(const V& left, V* right) {
    *right = left * *right;
  }
};

// Maxima or minima; NaN from the first NaN on.
template <bool kMax>
struct Extremum {
  using All = ScanTypes;
  template <typename T>
  using Start = T;
  template <typename T>
  using Elements = std::conditional_t<std::is_integral_v<T>, Numbers<T>,
                                      OrderedBits</*kNanIsLast=*/kMax, T>>;
  template <typename T>
  using Wide = T;
  static constexpr bool kInBlocks = true;
  static constexpr bool kHasTotals = false;

  template <typename T>
  static constexpr T Identity() {
    return kMax ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  // Of integers, g++ 12 compiles this to one instruction.
  template <typename V>
  XLA_FFI_OPS_HD static void Combine(const V& left, V* right) {
    *right = kMax ? (left > *right ? left : *right)
                  : (left < *right ? left : *right);
  }
};

// log_sum_exp.h has the rest.
struct LogSumExp {
  using All = FloatTypes;
  template <typename T>
  using Start = typename Numbers<T>::Element;
  static constexpr bool kHasTotals = true;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_SCAN_OPS_H_
