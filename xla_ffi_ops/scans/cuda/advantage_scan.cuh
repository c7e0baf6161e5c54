// SPDX-License-Identifier: Apache-2.0
// Generalized advantage estimates as a recurrence. See Advantages.
#ifndef XLA_FFI_OPS_SCANS_CUDA_ADVANTAGE_SCAN_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_ADVANTAGE_SCAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/cuda/launch_scan.cuh"
#include "xla_ffi_ops/scans/cuda/recurrence_scan.cuh"
#include "xla_ffi_ops/scans/cuda/step_memory.cuh"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {
namespace internal {

template <typename T>
struct AdvantageScan : RecurrenceScan<T> {
  using Base = RecurrenceScan<T>;
  using Item = typename Base::Item;
  struct Place : Base::Place {
    Steps<const T> values;  // of the state behind each step
    int64_t back;           // from there to the state before the step
    T lambda;
  };

  struct Loaded {
    Item items[Base::kSteps];
  };

  RecurrenceOperand<T> values, lambda;

  explicit AdvantageScan(const Advantages<T>& call)
      : Base{call.n, call.columns, call, /*vectors=*/false},
        values(call.values),
        lambda(call.lambda) {}

  __device__ Place At(int64_t row, int64_t column) const {
    Steps<const T> behind =
        StepsOf(values, this->n, this->call.reverse, row, column);
    behind.data += values.width;
    return {Base::At(row, column), behind, values.width,
            lambda.Row(row)[lambda.columns(column)]};
  }
  template <bool kRows>
  __device__ void Load(const Place& place, int64_t first, int count,
                       Loaded* loaded) const {
#pragma unroll
    for (int i = 0; i < Base::kSteps; ++i) {
      if (i < count) loaded->items[i] = LoadOne(place, first + i);
    }
  }
  template <bool kRows>
  __device__ void Read(const Loaded& loaded,
                       Item (&items)[Base::kSteps]) const {
#pragma unroll
    for (int i = 0; i < Base::kSteps; ++i) items[i] = loaded.items[i];
  }
  __device__ Item LoadOne(const Place& place, int64_t i) const {
    const T discount = *place.a[i];
    const T* const value = place.values[i];
    return {discount * place.lambda,
            *place.b[i] + discount * *value - value[-place.back]};
  }
};

}  // namespace internal

template <typename T>
void LaunchAdvantages(Cuda device, const Advantages<T>& call, int64_t rows) {
  if (call.n == 0 || rows == 0 || call.columns == 0) return;
  const StreamDevice current(device.stream);
  const internal::AdvantageScan<T> scan(call);
  if (call.columns > 1) {
    LaunchScan<false>(current, device.stream, scan, rows);
  } else {
    LaunchScan<true>(current, device.stream, scan, rows);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_ADVANTAGE_SCAN_CUH_
