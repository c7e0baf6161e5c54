// SPDX-License-Identifier: Apache-2.0
// x86-simd-sort, for the level that this is compiled for.
//
// At each level, it takes what it needs of std from another namespace.
// Otherwise both levels could instantiate the same function, and the linker
// might keep the one of the higher level, which does not run on the lower.
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

#ifdef __AVX512F__
#define XLA_FFI_OPS_STD xla_ffi_ops_std_v4
#define XLA_FFI_OPS_VECTOR zmm_vector
#define XLA_FFI_OPS_NAME(name) name##V4
#else
#define XLA_FFI_OPS_STD xla_ffi_ops_std_v3
#define XLA_FFI_OPS_VECTOR avx2_vector
#define XLA_FFI_OPS_NAME(name) name##V3
#endif

namespace xla_ffi_ops::internal {

// Used where quicksort recurses too deep; sort_keys.cc has it, for all levels.
void HeapSort(int32_t* keys, int64_t n);
void HeapSort(int64_t* keys, int64_t n);

}  // namespace xla_ffi_ops::internal

namespace XLA_FFI_OPS_STD {

using namespace std;

template <typename T, typename Less>
void sort(T* begin, T* end, Less) {
  xla_ffi_ops::internal::HeapSort(begin, end - begin);
}

}  // namespace XLA_FFI_OPS_STD

// Of integers. That of glibc has a new version since 2.29, too new for a wheel.
#define log2(n) (63 - __builtin_clzll(n))
#define std XLA_FFI_OPS_STD
#include "x86simdsort-static-incl.h"
#undef std
#undef log2

namespace xla_ffi_ops::internal {
namespace {

template <typename Key>
int64_t Partition(Key* keys, int64_t n, Key pivot) {
  using Vector = XLA_FFI_OPS_VECTOR<Key>;
  Key least = Vector::type_max(), most = Vector::type_min();
  return partition_unrolled<Vector, Comparator<Vector, false>,
                            Vector::partition_unroll_factor>(keys, 0, n, pivot,
                                                             &least, &most);
}

}  // namespace

void XLA_FFI_OPS_NAME(SimdSort)(int32_t* keys, int64_t n) {
  xss_qsort<XLA_FFI_OPS_VECTOR<int32_t>, int32_t>(keys, n, false);
}
void XLA_FFI_OPS_NAME(SimdSort)(int64_t* keys, int64_t n) {
  xss_qsort<XLA_FFI_OPS_VECTOR<int64_t>, int64_t>(keys, n, false);
}
void XLA_FFI_OPS_NAME(SimdSelect)(int32_t* keys, int64_t n, int64_t k) {
  xss_qselect<XLA_FFI_OPS_VECTOR<int32_t>, int32_t>(keys, k, n, false);
}
void XLA_FFI_OPS_NAME(SimdSelect)(int64_t* keys, int64_t n, int64_t k) {
  xss_qselect<XLA_FFI_OPS_VECTOR<int64_t>, int64_t>(keys, k, n, false);
}
int64_t XLA_FFI_OPS_NAME(SimdPartition)(int32_t* keys, int64_t n,
                                        int32_t pivot) {
  return Partition(keys, n, pivot);
}
int64_t XLA_FFI_OPS_NAME(SimdPartition)(int64_t* keys, int64_t n,
                                        int64_t pivot) {
  return Partition(keys, n, pivot);
}

}  // namespace xla_ffi_ops::internal
