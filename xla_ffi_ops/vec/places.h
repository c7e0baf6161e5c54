// SPDX-License-Identifier: Apache-2.0
// Where flags are set, eight at a time.
#ifndef XLA_FFI_OPS_VEC_PLACES_H_
#define XLA_FFI_OPS_VEC_PLACES_H_

#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

// The places of the bits that are 1 in each byte; then zeros.
template <typename Index>
struct Places {
  Index of[256][8] = {};

  constexpr Places() {
    for (int byte = 0; byte < 256; ++byte) {
      for (int bit = 0, k = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) of[byte][k++] = bit;
      }
    }
  }
};
template <typename Index>
inline constexpr Places<Index> kPlaces;

// The lowest bits of eight flags, as one byte.
XLA_FFI_OPS_HD uint64_t Byte(const uint8_t* flags) {
  uint64_t eight = 0;
  std::memcpy(&eight, flags, 8);
  return (eight & 0x0101010101010101) * 0x0102040810204080 >> 56;
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_PLACES_H_
