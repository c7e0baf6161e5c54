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
#define XLA_FFI_OPS_NAME(name) name##V4
#else
#define XLA_FFI_OPS_STD xla_ffi_ops_std_v3
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

#ifdef __AVX512F__

// For each byte, the places of its bits that are 0, then of those that are 1.
struct Orders {
  alignas(64) uint8_t of[256][8] = {};

  constexpr Orders() {
    for (int byte = 0; byte < 256; ++byte) {
      int k = 0;
      for (int is_right = 0; is_right < 2; ++is_right) {
        for (int lane = 0; lane < 8; ++lane) {
          if ((byte >> lane & 1) == is_right) of[byte][k++] = lane;
        }
      }
    }
  }
};
constexpr Orders kOrders;

// The two stores of a partition. x86-simd-sort's own are compressing stores to
// memory, which Zen 4 runs in microcode. Compressing in a register and
// permuting are single instructions.
//
// The caller keeps room for a whole vector at both ends. So a store may write
// lanes that do not count. At the last vector of a partition, both ends are one
// place: what counts of one end has to survive the store to the other.
inline int StoreSides(int64_t* left, int64_t* right, __mmask8 goes_right,
                      __m512i keys) {
  const auto* order = reinterpret_cast<const __m128i*>(kOrders.of[goes_right]);
  const __m512i sides = _mm512_permutexvar_epi64(
      _mm512_cvtepu8_epi64(_mm_loadl_epi64(order)), keys);
  _mm512_storeu_si512(left, sides);
  _mm512_storeu_si512(right, sides);
  return _mm_popcnt_u32(goes_right);
}
// A table for 16 lanes would have 1 MiB.
inline int StoreSides(int32_t* left, int32_t* right, __mmask16 goes_right,
                      __m512i keys) {
  const int n = _mm_popcnt_u32(goes_right);
  const auto goes_left = static_cast<__mmask16>(~goes_right);
  _mm512_storeu_si512(left, _mm512_maskz_compress_epi32(goes_left, keys));
  _mm512_mask_storeu_epi32(right + 16 - n, _bzhi_u32(0xffff, n),
                           _mm512_maskz_compress_epi32(goes_right, keys));
  return n;
}

template <typename Key>
struct Vector : zmm_vector<Key> {
  // The library's name of what a partition calls.
  static int double_compressstore(Key* left, Key* right,
                                  typename zmm_vector<Key>::opmask_t goes_right,
                                  __m512i keys) {
    return StoreSides(left, right, goes_right, keys);
  }
};

#else

template <typename Key>
using Vector = avx2_vector<Key>;

#endif

template <typename Key>
int64_t Partition(Key* keys, int64_t n, Key pivot) {
  using V = Vector<Key>;
  Key least = V::type_max(), most = V::type_min();
  return partition_unrolled<V, Comparator<V, false>,
                            V::partition_unroll_factor>(keys, 0, n, pivot,
                                                        &least, &most);
}

}  // namespace

void XLA_FFI_OPS_NAME(SimdSort)(int32_t* keys, int64_t n) {
  xss_qsort<Vector<int32_t>, int32_t>(keys, n, false);
}
void XLA_FFI_OPS_NAME(SimdSort)(int64_t* keys, int64_t n) {
  xss_qsort<Vector<int64_t>, int64_t>(keys, n, false);
}
void XLA_FFI_OPS_NAME(SimdSelect)(int32_t* keys, int64_t n, int64_t k) {
  xss_qselect<Vector<int32_t>, int32_t>(keys, k, n, false);
}
void XLA_FFI_OPS_NAME(SimdSelect)(int64_t* keys, int64_t n, int64_t k) {
  xss_qselect<Vector<int64_t>, int64_t>(keys, k, n, false);
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
