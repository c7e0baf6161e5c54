// SPDX-License-Identifier: Apache-2.0
// A call of a scan of scan_ops.h, for all devices; and how CUDA is asked for
// it.
#ifndef XLA_FFI_OPS_SCANS_SCAN_CALL_H_
#define XLA_FFI_OPS_SCANS_SCAN_CALL_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

// The dtype of elements in memory. Kernels for CUDA get it when they run: they
// would take long to compile for each.
struct NumberFormat {
  enum Kind : int { kUnsigned, kSigned, kFloat, kBrainFloat };

  int bytes;
  Kind kind;
};

template <typename T>
constexpr NumberFormat NumberFormatOf() {
  NumberFormat format{sizeof(T), NumberFormat::kFloat};
  if (std::is_same_v<T, BFloat16>) format.kind = NumberFormat::kBrainFloat;
  if (std::is_integral_v<T>) {
    format.kind =
        std::is_signed_v<T> ? NumberFormat::kSigned : NumberFormat::kUnsigned;
  }
  return format;
}

inline bool IsFloat(NumberFormat format) {
  return format.kind == NumberFormat::kFloat ||
         format.kind == NumberFormat::kBrainFloat;
}

// Scans x, [rows, n, columns], along its middle axis to y, from `starts`,
// [rows, columns], which may be null. Or y gets what all elements of a column
// make, and is like starts.
struct ScanCall {
  NumberFormat format;  // of x
  const void* x;
  const void* starts;
  void* y;
  int64_t rows, n, columns;
  bool reverse;
};

// Enqueue them. Op is one of scan_ops.h.
template <typename Op>
void LaunchScanOf(Cuda device, const ScanCall& call);
template <typename Op>
void LaunchTotalsOf(Cuda device, const ScanCall& call);

// For CUDA, which knows no more of them.
namespace internal {

struct Sum;
struct Product;
template <bool kMax>
struct Extremum;
struct LogSumExp;

}  // namespace internal
}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_SCAN_CALL_H_
