// SPDX-License-Identifier: Apache-2.0
// Scans the elements of one row, or of many columns, on the CPU.
#ifndef XLA_FFI_OPS_SCANS_SCAN_ROW_H_
#define XLA_FFI_OPS_SCANS_SCAN_ROW_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/scans/vector_scan.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

// Scans a row element by element.
template <typename Op, typename T>
XLA_FFI_OPS_HD T ScanSingly(const T* x, T* y, int64_t n, bool reverse,
                            T carry) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = reverse ? n - 1 - i : i;
    T next = x[at];
    Op::Combine(carry, &next);
    y[at] = carry = next;
  }
  return carry;
}

// Combines `carry` with the first elements of x. Writes each of these results,
// combined with `base`, to y unless it is null. Returns the last one without
// `base`, which only operations with blocks have.
template <typename Op, typename T>
auto ScanRow(const T* x, T* y, int64_t n, bool reverse,
             typename Op::template Wide<T> base,
             typename Op::template Wide<T> carry) {
  using W = typename Op::template Wide<T>;
  // A vector first combines its own lanes. For doubles, their product could
  // overflow where the running product does not. That of 8 floats, the most
  // there are in a vector, does not overflow in double.
  if constexpr (std::is_same_v<Op, Product> && std::is_same_v<T, double>) {
    return ScanSingly<Op, T>(x, y, n, reverse, carry);
  } else {
    W result{};
    AtCpuLevel([&](auto level) XLA_FFI_OPS_INLINED {
      constexpr int lanes = kVectorBytes<decltype(level)::value> / sizeof(W);
      result = reverse
                   ? VectorScan<Op, T, true, lanes>(base, carry).Run(x, y, n)
                   : VectorScan<Op, T, false, lanes>(base, carry).Run(x, y, n);
    });
    return result;
  }
}

// Some steps of the scans of n columns: combines their states with elements,
// and writes each to y, a T*, or nullptr if nobody wants them.
template <typename Op, int steps, typename T, typename Y, typename W>
void ScanSteps(const T* x, Y y, int64_t stride, W* states, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    XLA_FFI_OPS_INDEPENDENT  // y may be x
        for (int64_t j = 0; j < n; ++j) {
      W state = states[j];
#pragma GCC unroll 8
      for (int i = 0; i < steps; ++i) {
        W next = static_cast<W>(x[i * stride + j]);
        Op::Combine(state, &next);
        state = next;
        if constexpr (std::is_pointer_v<Y>) {
          y[i * stride + j] = static_cast<T>(state);
        }
      }
      states[j] = state;
    }
  });
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_SCAN_ROW_H_
