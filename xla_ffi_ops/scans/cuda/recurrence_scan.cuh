// SPDX-License-Identifier: Apache-2.0
// Linear recurrences as scans. A State is A and B: steps make A h + B of what h
// is before them. Both are kept in double, where the product A does not
// overflow as soon.
#ifndef XLA_FFI_OPS_SCANS_CUDA_RECURRENCE_SCAN_CUH_
#define XLA_FFI_OPS_SCANS_CUDA_RECURRENCE_SCAN_CUH_

#include <cuda_runtime.h>

#include <complex>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/scans/cuda/launch_scan.cuh"
#include "xla_ffi_ops/scans/cuda/numbers.cuh"
#include "xla_ffi_ops/scans/cuda/scan_tiles.cuh"
#include "xla_ffi_ops/scans/cuda/step_memory.cuh"
#include "xla_ffi_ops/scans/recurrences/recurrence.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {
namespace internal {

template <typename T>
inline __device__ Steps<const T> StepsOf(const RecurrenceOperand<T>& x,
                                         int64_t n, bool reverse, int64_t row,
                                         int64_t column) {
  return {x.Row(row) + x.columns(column), n, x.steps == 1 ? 0 : x.width,
          reverse};
}

template <typename T>
struct RecurrenceScan {
  using Element = typename ElementTypes<T>::Element;
  using Wide = typename ElementTypes<T>::Wide;
  using Carry = Element;
  using Result = Element;
  struct Item {
    Element a, b;
  };
  // Of one thread: B is that of a plain loop that begins with 0.
  struct Local {
    Wide a = One(Wide());
    Element b = Element();
  };
  struct State {
    Wide a = One(Wide()), b = Wide();

    __device__ State Shuffle(int mask) const {
      return {ShuffleNumber(a, mask), ShuffleNumber(b, mask)};
    }
  };
  struct Place {
    Steps<const T> a, b;
    Steps<T> h;
    int64_t row, column;
  };
  // 32 bytes of an operand, or as many steps as a vector has.
  static constexpr int kSteps = sizeof(T) == 2 ? 8 : 32 / sizeof(T);
  struct Loaded {
    LoadedSteps<T, kSteps> a, b;
    Element before;  // the factor before these
  };
  static constexpr bool kIsAlwaysSure = false;
  static constexpr bool kRoundsCarry = !std::is_same_v<T, Element>;

  int64_t n, columns;
  Recurrence<T> call;
  bool vectors;  // whether all of rows may be accessed by them

  __device__ Place At(int64_t row, int64_t column) const {
    const bool reverse = call.reverse;
    return {StepsOf(call.a, n, reverse, row, column),
            StepsOf(call.b, n, reverse, row, column),
            {call.h + row * n * columns + column, n, columns, reverse},
            row,
            column};
  }
  __device__ T* Slot(const Place& place, int64_t i) const { return place.h[i]; }
  __device__ int SlotBytes() const { return sizeof(T); }
  bool MayBeUnsure() const { return true; }

  template <bool kRows>
  __device__ void Load(const Place& place, int64_t first, int count,
                       Loaded* loaded) const {
    LoadSteps<kRows>(place.a, first, count, vectors && call.a.steps != 1,
                     &loaded->a);
    LoadSteps<kRows>(place.b, first, count, vectors, &loaded->b);
    if (call.shifted && count > 0) {
      loaded->before = FactorBefore(place, first);
    }
  }
  template <bool kRows>
  __device__ void Read(const Loaded& loaded, Item (&items)[kSteps]) const {
    Element a[kSteps], b[kSteps];
    ReadSteps<kRows>(loaded.a, call.reverse, vectors && call.a.steps != 1, a);
    ReadSteps<kRows>(loaded.b, call.reverse, vectors, b);
    if (call.shifted) {
#pragma unroll
      for (int i = kSteps - 1; i > 0; --i) a[i] = a[i - 1];
      a[0] = loaded.before;
    }
#pragma unroll
    for (int i = 0; i < kSteps; ++i) items[i] = {a[i], b[i]};
  }
  __device__ Item LoadOne(const Place& place, int64_t i) const {
    return {call.shifted ? FactorBefore(place, i) : ToElement(*place.a[i]),
            ToElement(*place.b[i])};
  }
  template <bool kRows>
  __device__ void Store(const Place& place, int64_t first, int count,
                        const Element (&h)[kSteps]) const {
    StoreSteps<kRows>(place.h, first, count, vectors, h);
  }
  __device__ void StoreOne(const Place& place, int64_t i, Element h) const {
    *place.h[i] = FromElement<T>(h);
  }
  __device__ void SaveTotal(const Place& place, int64_t begin,
                            const State& state) const {
    Save(*this, place, begin, state);
  }

  __device__ void Add(const Item& item, Local* local) const {
    local->a = Multiplied(local->a, ConvertTo<Wide>(item.a));
    local->b = MulAdd(item.a, local->b, item.b);
  }
  __device__ State Whole(const Local& local) const {
    return {local.a, ConvertTo<Wide>(local.b)};
  }
  __device__ State Join(const State& sooner, const State& later) const {
    return {Multiplied(later.a, sooner.a), MulAdd(later.a, sooner.b, later.b)};
  }
  __device__ Element Start(const Place& place) const {
    if (call.wide_h0.data != nullptr) {
      return call.wide_h0.Row(place.row)[call.wide_h0.columns(place.column)];
    }
    if (call.h0.data == nullptr) return Element{};
    return ToElement(call.h0.Row(place.row)[call.h0.columns(place.column)]);
  }
  __device__ Element After(const State& state, Element h) const {
    return ConvertTo<Element>(MulAdd(state.a, ConvertTo<Wide>(h), state.b));
  }
  __device__ Element Step(const Item& item, Element h) const {
    return MulAdd(item.a, h, item.b);
  }
  __device__ Element ResultOf(Element h) const { return h; }
  // From the first NaN on, all is NaN.
  __device__ bool IsSure(Element first, Element h) const {
    return IsFinite(h) || IsNan(first);
  }
  __device__ bool IsOrdinary(Element h) const { return IsFinite(h); }
  __device__ Element CarryAt(const Place& place, int64_t i) const {
    return ToElement(*place.h[i]);
  }

 private:
  __device__ Element FactorBefore(const Place& place, int64_t i) const {
    return i > 0 ? ToElement(*place.a[i - 1]) : One(Element());
  }
};

// The same call, of complex numbers that a device knows.
template <typename T>
const Recurrence<T>& OnDevice(const Recurrence<T>& call) {
  return call;
}
template <typename R>
RecurrenceOperand<DeviceComplex<R>> OnDevice(
    const RecurrenceOperand<std::complex<R>>& x) {
  return {reinterpret_cast<const DeviceComplex<R>*>(x.data), x.steps, x.width,
          x.rows, x.columns};
}
template <typename R>
Recurrence<DeviceComplex<R>> OnDevice(const Recurrence<std::complex<R>>& call) {
  return {call.n,
          call.columns,
          call.reverse,
          call.shifted,
          OnDevice(call.a),
          OnDevice(call.b),
          OnDevice(call.h0),
          reinterpret_cast<DeviceComplex<R>*>(call.h),
          OnDevice(call.wide_h0)};
}

template <typename T>
RecurrenceScan<T> ScanOf(const Recurrence<T>& call) {
  const auto is_ready = [&](const RecurrenceOperand<T>& x) {
    return x.steps == 1 || HasVectors(x.data, call.n);
  };
  return {call.n, call.columns, call,
          call.columns == 1 && call.n > 1 && is_ready(call.a) &&
              is_ready(call.b) && HasVectors(call.h, call.n)};
}

}  // namespace internal

// Computes the recurrence of `rows` rows.
template <typename Call>
void LaunchRecurrence(Cuda device, const Call& call, int64_t rows) {
  if (call.n == 0 || rows == 0 || call.columns == 0) return;
  const StreamDevice current(device.stream);
  const auto scan = internal::ScanOf(internal::OnDevice(call));
  if (call.columns > 1) {
    LaunchScan<false>(current, device.stream, scan, rows);
  } else {
    LaunchScan<true>(current, device.stream, scan, rows);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SCANS_CUDA_RECURRENCE_SCAN_CUH_
