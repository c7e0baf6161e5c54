// SPDX-License-Identifier: Apache-2.0
// What running sums, products, maxima and minima combine elements with: for
// numbers and for vectors of them.
#ifndef XLA_FFI_OPS_SCANS_SCAN_OPS_H_
#define XLA_FFI_OPS_SCANS_SCAN_OPS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/types.h"
#include "xla_ffi_ops/scans/elements.h"

namespace xla_ffi_ops::internal {

// Sums and products of float are kept in double. So they are exact to the last
// place of float, and products of few numbers do not overflow.
template <typename T>
using WideSum = std::conditional_t<std::is_same_v<T, float>, double, T>;

// Integers are added and multiplied without a sign: so they wrap.
template <typename T>
using Unsigned =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                TypeTag<T>>::type;

struct Sum {
  // What elements of type T are converted to.
  template <typename T>
  using Elements = Numbers<Unsigned<T>>;
  // What these are combined in.
  template <typename T>
  using Wide = WideSum<T>;
  // Blocks of a long row are summed on their own, and then added up.
  static constexpr bool kInBlocks = true;

  template <typename T>
  static constexpr T Identity() {
    return static_cast<T>(-0.0);  // 0.0 + -0.0 is 0.0, not what is added.
  }
  template <typename V>
  XLA_FFI_OPS_HD static void Combine(const V& left, V* right) {
    *right = left + *right;
  }
};

struct Product {
  template <typename T>
  using Elements = Numbers<Unsigned<T>>;
  template <typename T>
  using Wide = WideSum<T>;
  // The product of a block may overflow, and what comes before it may be 0.
  static constexpr bool kInBlocks = false;

  template <typename T>
  static constexpr T Identity() {
    return 1;
  }
  template <typename V>
  XLA_FFI_OPS_HD static void Combine(const V& left, V* right) {
    *right = left * *right;
  }
};

// Maxima, or minima: NaN if there is one.
template <bool kMax>
struct Extremum {
  template <typename T>
  using Elements = std::conditional_t<std::is_integral_v<T>, Numbers<T>,
                                      OrderedBits</*kNanIsLast=*/kMax, T>>;
  template <typename T>
  using Wide = T;
  static constexpr bool kInBlocks = true;

  template <typename T>
  static constexpr T Identity() {
    return kMax ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  // g++ 12 takes it for an instruction, but not of floating-point numbers.
  template <typename V>
  XLA_FFI_OPS_HD static void Combine(const V& left, V* right) {
    *right = kMax ? (left > *right ? left : *right)
                  : (left < *right ? left : *right);
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_SCAN_OPS_H_
