// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/nonzero/nonzero.h"

#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/places.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::nonzero {
namespace {

// A vector: g++ 12 splits a loop over eight elements in two.
template <typename T>
using Eight = internal::Vec<T, 8>;

// `n` is at most 255.
XLA_FFI_OPS_HD int64_t CountFew(const uint8_t* mask, int64_t n) {
  uint8_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += mask[i] & 1;
  return count;
}

XLA_FFI_OPS_HD int64_t CountAll(const uint8_t* mask, int64_t n) {
  constexpr int64_t kPart = 128;
  int64_t count = 0;
  int64_t i = 0;
  for (; i + kPart <= n; i += kPart) count += CountFew(mask + i, kPart);
  return count + CountFew(mask + i, n - i);
}

template <typename Index>
XLA_FFI_OPS_HD void FindAll(const uint8_t* __restrict mask, int64_t n,
                            int64_t first, int64_t count,
                            Index* __restrict indices) {
  int64_t i = 0;
  int64_t k = 0;
  // Eight at a time, of which those behind the places are overwritten.
  for (; i + 8 <= n && k + 8 <= count; i += 8) {
    const uint64_t byte = Byte(mask + i);
    Eight<Index> found;
    std::memcpy(&found, kPlaces<Index>.of[byte], sizeof(found));
    found += static_cast<Index>(first + i);
    std::memcpy(indices + k, &found, sizeof(found));
    k += __builtin_popcountll(byte);
  }
  // No more than there is room for.
  for (; i + 8 <= n && k < count; i += 8) {
    for (uint64_t byte = Byte(mask + i); byte != 0 && k < count;
         byte &= byte - 1) {
      indices[k++] = static_cast<Index>(first + i + __builtin_ctzll(byte));
    }
  }
  for (; i < n && k < count; ++i) {
    if (mask[i] & 1) indices[k++] = static_cast<Index>(first + i);
  }
}

}  // namespace

int64_t Count(const uint8_t* mask, int64_t n) {
  int64_t count = 0;
  AtCpuLevel([=, &count]() XLA_FFI_OPS_INLINED { count = CountAll(mask, n); });
  return count;
}

template <typename Index>
void Find(const uint8_t* mask, int64_t n, int64_t first, int64_t count,
          Index* indices) {
  AtCpuLevel(
      [=]() XLA_FFI_OPS_INLINED { FindAll(mask, n, first, count, indices); });
}

template void Find(const uint8_t*, int64_t, int64_t, int64_t, int32_t*);
template void Find(const uint8_t*, int64_t, int64_t, int64_t, int64_t*);

}  // namespace xla_ffi_ops::nonzero
