// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/vec/sort/sort_keys.h"

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/vec/cpu_level.h"

namespace xla_ffi_ops {
namespace internal {

void SimdSortV3(int32_t* keys, int64_t n);
void SimdSortV3(int64_t* keys, int64_t n);
void SimdSortV4(int32_t* keys, int64_t n);
void SimdSortV4(int64_t* keys, int64_t n);
void SimdSelectV3(int32_t* keys, int64_t n, int64_t k);
void SimdSelectV3(int64_t* keys, int64_t n, int64_t k);
void SimdSelectV4(int32_t* keys, int64_t n, int64_t k);
void SimdSelectV4(int64_t* keys, int64_t n, int64_t k);
int64_t SimdPartitionV3(int32_t* keys, int64_t n, int32_t pivot);
int64_t SimdPartitionV3(int64_t* keys, int64_t n, int64_t pivot);
int64_t SimdPartitionV4(int32_t* keys, int64_t n, int32_t pivot);
int64_t SimdPartitionV4(int64_t* keys, int64_t n, int64_t pivot);

void HeapSort(int32_t* keys, int64_t n) {
  std::make_heap(keys, keys + n);
  std::sort_heap(keys, keys + n);
}
void HeapSort(int64_t* keys, int64_t n) {
  std::make_heap(keys, keys + n);
  std::sort_heap(keys, keys + n);
}

}  // namespace internal

namespace {

template <typename Key>
void SortAtLevel(Key* keys, int64_t n) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return internal::SimdSortV4(keys, n);
  if (CpuLevel() == 3) return internal::SimdSortV3(keys, n);
#endif
  std::sort(keys, keys + n);
}

template <typename Key>
void SelectAtLevel(Key* keys, int64_t n, int64_t k) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return internal::SimdSelectV4(keys, n, k);
  if (CpuLevel() == 3) return internal::SimdSelectV3(keys, n, k);
#endif
  std::nth_element(keys, keys + k, keys + n);
}

template <typename Key>
int64_t PartitionAtLevel(Key* keys, int64_t n, Key pivot) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return internal::SimdPartitionV4(keys, n, pivot);
  if (CpuLevel() == 3) return internal::SimdPartitionV3(keys, n, pivot);
#endif
  const auto less = [=](Key key) { return key < pivot; };
  return std::partition(keys, keys + n, less) - keys;
}

}  // namespace

void SortKeys(int32_t* keys, int64_t n) { SortAtLevel(keys, n); }
void SortKeys(int64_t* keys, int64_t n) { SortAtLevel(keys, n); }
void SelectKeys(int32_t* keys, int64_t n, int64_t k) {
  SelectAtLevel(keys, n, k);
}
void SelectKeys(int64_t* keys, int64_t n, int64_t k) {
  SelectAtLevel(keys, n, k);
}
int64_t PartitionKeys(int32_t* keys, int64_t n, int32_t pivot) {
  return PartitionAtLevel(keys, n, pivot);
}
int64_t PartitionKeys(int64_t* keys, int64_t n, int64_t pivot) {
  return PartitionAtLevel(keys, n, pivot);
}

}  // namespace xla_ffi_ops
