// SPDX-License-Identifier: Apache-2.0
// Sorts unsigned integers: all that sorts here ends with these.
#ifndef XLA_FFI_OPS_SORTING_SORT_KEYS_H_
#define XLA_FFI_OPS_SORTING_SORT_KEYS_H_

#include <cstdint>
#include <type_traits>

namespace xla_ffi_ops {

// A key as it is sorted: there are no functions for narrower ones.
template <typename U>
using SortedKey = std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t>;

// Sorts n keys.
void SortKeys(uint32_t* keys, int64_t n);
void SortKeys(uint64_t* keys, int64_t n);

// Sorts n keys that are in the order of their lowest `known_bits` already.
// `more` has room for as many.
void SortKeys(uint32_t* keys, int64_t n, int known_bits, uint32_t* more);
void SortKeys(uint64_t* keys, int64_t n, int known_bits, uint64_t* more);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SORTING_SORT_KEYS_H_
