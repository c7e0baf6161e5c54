// SPDX-License-Identifier: Apache-2.0
// The types that elements have while they are scanned.
#ifndef XLA_FFI_OPS_SCANS_ELEMENTS_H_
#define XLA_FFI_OPS_SCANS_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/scans/element_of.h"
#include "xla_ffi_ops/vec/convert_rows.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/key_format.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::internal {

// Fetches n elements to the second-level cache. Loops over pieces ask for the
// next piece: the memory is idle while they compute one. (g++ would drop calls
// of functions that only fetch; these are inlined.)
template <bool kStores, typename T>
XLA_FFI_OPS_HD void Fetch(const T* x, int64_t n) {
  constexpr int kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(x + i, kStores, 2);
}

// For arithmetic.
template <typename T>
struct Numbers {
  using Stored = T;
  using Element = ElementOf<T>;

  static constexpr bool kConverts = !std::is_same_v<T, Element>;

  static void To(const T* from, Element* to, int64_t n) {
    Convert(from, to, n);
  }
  static void From(const Element* from, T* to, int64_t n) {
    Convert(from, to, n);
  }

 private:
  template <typename X, typename Y>
  static void Convert(const X* from, Y* to, int64_t n) {
    if constexpr (std::is_same_v<X, Y>) {
      std::copy_n(from, n, to);
    } else if constexpr (std::is_same_v<Y, float>) {
      WidenRow(from, to, n);
    } else if constexpr (std::is_same_v<X, float>) {
      NarrowRow(from, to, n);
    } else {
      AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Y>(from[i]);
      });
    }
  }
};

// For comparisons. Floating-point numbers become integers in the same order,
// with NaN, of either sign, first or last: g++ 12 vectorizes maxima and minima
// of integers only. Integers with a sign take fewer steps than KeyFormat's.
template <bool kNanIsLast, typename T>
struct OrderedBits {
  using Bits = IntOf<sizeof(T)>;
  using Stored = Bits;
  using Element = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  static constexpr bool kConverts = true;
  static constexpr int kSign = 8 * sizeof(T) - 1;
  static constexpr Bits kMost = std::numeric_limits<Bits>::max();
  static constexpr auto kInfinity = static_cast<Bits>(FormatOf<T>().infinity);

  static void To(const Bits* from, Element* to, int64_t n) {
    AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
      for (int64_t i = 0; i < n; ++i) {
        const Bits bits = from[i], magnitude = bits & kMost;
        const Bits nan = static_cast<Bits>(kInfinity - magnitude) >> kSign;
        const Bits key = bits ^ ((bits >> kSign) & kMost);
        to[i] = (key & ~nan) | ((kNanIsLast ? kMost : ~kMost) & nan);
      }
    });
  }
  static void From(const Element* from, Bits* to, int64_t n) {
    AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
      for (int64_t i = 0; i < n; ++i) {
        const Bits key = static_cast<Bits>(from[i]);
        to[i] = key ^ ((key >> kSign) & kMost);
      }
    });
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_ELEMENTS_H_
