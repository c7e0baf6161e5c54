// SPDX-License-Identifier: Apache-2.0
// Sorts integers. All sorts of this repository end here.
#ifndef XLA_FFI_OPS_VEC_SORT_SORT_KEYS_H_
#define XLA_FFI_OPS_VEC_SORT_SORT_KEYS_H_

#include <cstdint>

namespace xla_ffi_ops {

// Sorts n keys.
void SortKeys(int32_t* keys, int64_t n);
void SortKeys(int64_t* keys, int64_t n);

// Moves the key that would be at k, were they sorted, there; 0 <= k < n. No
// larger one is before it then, and no smaller one behind it.
void SelectKeys(int32_t* keys, int64_t n, int64_t k);
void SelectKeys(int64_t* keys, int64_t n, int64_t k);

// Moves keys that are less than `pivot` to the front, and returns how many.
int64_t PartitionKeys(int32_t* keys, int64_t n, int32_t pivot);
int64_t PartitionKeys(int64_t* keys, int64_t n, int64_t pivot);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_SORT_SORT_KEYS_H_
