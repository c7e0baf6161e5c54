// SPDX-License-Identifier: Apache-2.0
// Where the true elements of a mask are.
#ifndef XLA_FFI_OPS_OPS_NONZERO_NONZERO_H_
#define XLA_FFI_OPS_OPS_NONZERO_NONZERO_H_

#include <cstdint>

namespace xla_ffi_ops::nonzero {

// How many of `n` elements are true: those whose lowest bit is 1.
int64_t Count(const uint8_t* mask, int64_t n);

// Writes `first` + i for the i of the first `count` true elements, of which
// there are so many.
template <typename Index>
void Find(const uint8_t* mask, int64_t n, int64_t first, int64_t count,
          Index* indices);

extern template void Find(const uint8_t*, int64_t, int64_t, int64_t, int32_t*);
extern template void Find(const uint8_t*, int64_t, int64_t, int64_t, int64_t*);

}  // namespace xla_ffi_ops::nonzero

#endif  // XLA_FFI_OPS_OPS_NONZERO_NONZERO_H_
