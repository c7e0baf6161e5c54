// SPDX-License-Identifier: Apache-2.0
// x86-simd-sort, for the level of the source that includes it once.
//
// What it has of std, it has of a namespace of the level: a function that two
// levels had in common might be linked from the higher one, and not run on the
// lower.
#ifndef XLA_FFI_OPS_SORTING_SIMD_SORT_H_
#define XLA_FFI_OPS_SORTING_SIMD_SORT_H_

#include <immintrin.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace xla_ffi_ops::internal {

// For what quicksort has split too often; sort_keys.cc has it, for any level.
void HeapSort(uint32_t* keys, int64_t n);
void HeapSort(uint64_t* keys, int64_t n);

}  // namespace xla_ffi_ops::internal

namespace XLA_FFI_OPS_STD {

using namespace std;

template <typename T, typename Less>
void sort(T* begin, T* end, Less) {
  xla_ffi_ops::internal::HeapSort(begin, end - begin);
}

}  // namespace XLA_FFI_OPS_STD

#define std XLA_FFI_OPS_STD
#include "x86simdsort-static-incl.h"
#undef std

#endif  // XLA_FFI_OPS_SORTING_SIMD_SORT_H_
