// SPDX-License-Identifier: Apache-2.0
// What elements are computed in.
#ifndef XLA_FFI_OPS_SCANS_ELEMENT_OF_H_
#define XLA_FFI_OPS_SCANS_ELEMENT_OF_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops::internal {

// Integers and floating-point numbers of less than 32 bits are widened:
// shuffles.h moves units of 32 bits.
template <typename T>
using ElementOf = std::conditional_t<
    kIs16BitFloat<T>, float,
    std::conditional_t<
        (sizeof(T) >= 4), T,
        std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>>;

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SCANS_ELEMENT_OF_H_
