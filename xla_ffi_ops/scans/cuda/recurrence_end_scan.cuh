// SPDX-License-Identifier: Apache-2.0
// The ends of recurrences: m 2^e and B of all steps. See RecurrenceEnds.
#ifndef XLA_FFI_OPS_SCANS_CUDA_RECURRENCE_END_SCAN_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_RECURRENCE_END_SCAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/cuda/launch_scan.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/scans/cuda/recurrence_scan.cuh"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_end.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {
namespace internal {

template <typename T>
struct RecurrenceEndScan {
  using Items = RecurrenceScan<T>;
  using Item = typename Items::Item;
  using Loaded = typename Items::Loaded;
  using Carry = typename ElementTypes<T>::Element;
  struct State {
    double m = 1;
    int64_t e = 0;
    double b = 0;

    __device__ State Shuffle(int mask) const {
      State other;
      other.m = ShuffleNumber(m, mask);
      other.e = __shfl_xor_sync(0xffffffffu, e, mask);
      other.b = ShuffleNumber(b, mask);
      return other;
    }
  };
  using Local = State;
  struct Place {
    typename Items::Place items;
    int64_t index;
  };
  static constexpr int kSteps = Items::kSteps;

  Items steps;  // as they are, also if the call is shifted
  bool shifted;
  double* m;
  int64_t* e;
  double* b;
  int64_t n = steps.n, columns = steps.columns;

  explicit RecurrenceEndScan(const RecurrenceEnds<T>& ends)
      : steps(ScanOf(ends.call)),
        shifted(ends.call.shifted),
        m(ends.m),
        e(ends.e),
        b(ends.b) {
    steps.call.shifted = false;
  }

  __device__ Place At(int64_t row, int64_t column) const {
    return {steps.At(row, column), row * columns + column};
  }
  template <bool kRows>
  __device__ void Load(const Place& place, int64_t first, int count,
                       Loaded* loaded) const {
    steps.template Load<kRows>(place.items, first, count, loaded);
  }
  template <bool kRows>
  __device__ void Read(const Loaded& loaded, Item (&items)[kSteps]) const {
    steps.template Read<kRows>(loaded, items);
  }
  __device__ void Add(const Item& item, Local* local) const {
    const double a = item.a, b = item.b;
    local->b = shifted ? a * (local->b + b) : a * local->b + b;
    // Both: the product of small ones may have no bits left.
    double m = a;
    MoveExponent(&m, &local->e);
    local->m *= m;
    MoveExponent(&local->m, &local->e);
  }
  __device__ State Whole(const Local& local) const { return local; }
  __device__ State Join(const State& sooner, const State& later) const {
    State both;
    both.m = later.m * sooner.m;
    both.e = later.e + sooner.e;
    MoveExponent(&both.m, &both.e);
    both.b = Scaled(later.m * sooner.b, later.e) + later.b;
    return both;
  }
  __device__ void SaveTotal(const Place& place, int64_t,
                            const State& state) const {
    m[place.index] = state.m;
    e[place.index] = state.e;
    b[place.index] = state.b;
  }
};

}  // namespace internal

// One block computes all steps of a row, or of 32 columns.
template <typename T>
void LaunchRecurrenceEnds(Cuda device, const RecurrenceEnds<T>& ends,
                          int64_t rows) {
  const int64_t columns = ends.call.columns;
  if (rows == 0 || columns == 0) return;
  const StreamDevice current(device.stream);
  const auto launch = [&](auto is_rows) {
    LaunchTotals<is_rows.value>(device.stream,
                                internal::RecurrenceEndScan<T>(ends), rows);
  };
  columns == 1 ? launch(std::true_type()) : launch(std::false_type());
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_RECURRENCE_END_SCAN_CUH_
