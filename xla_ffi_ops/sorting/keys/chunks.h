// SPDX-License-Identifier: Apache-2.0
// How a long row is cut into chunks.
#ifndef XLA_FFI_OPS_SORTING_KEYS_CHUNKS_H_
#define XLA_FFI_OPS_SORTING_KEYS_CHUNKS_H_

#include <algorithm>
#include <cstdint>

namespace xla_ffi_ops::internal {

// A row of n elements in `count` chunks: all have the same size, but the last
// ones may be shorter or empty.
struct Chunks {
  int64_t n;
  int64_t count;

  int64_t size() const { return n / count + (n % count != 0); }
  int64_t begin(int64_t chunk) const { return std::min(n, chunk * size()); }
  int64_t length(int64_t chunk) const {
    return begin(chunk + 1) - begin(chunk);
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_CHUNKS_H_
