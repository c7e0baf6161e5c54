// SPDX-License-Identifier: Apache-2.0
// x86-simd-sort with AVX-512.
#define XLA_FFI_OPS_STD xla_ffi_ops_std_v4
#include "xla_ffi_ops/sorting/simd_sort.h"

namespace xla_ffi_ops::internal {

void SimdSortV4(uint32_t* keys, int64_t n) {
  xss_qsort<zmm_vector<uint32_t>, uint32_t>(keys, n, false);
}

void SimdSortV4(uint64_t* keys, int64_t n) {
  xss_qsort<zmm_vector<uint64_t>, uint64_t>(keys, n, false);
}

}  // namespace xla_ffi_ops::internal
