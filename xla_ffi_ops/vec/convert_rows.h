// SPDX-License-Identifier: Apache-2.0
// Conversions of whole rows on the CPU: of weights of 16 bits, of sums over
// rows, and of what scans work on.
#ifndef XLA_FFI_OPS_VEC_CONVERT_ROWS_H_
#define XLA_FFI_OPS_VEC_CONVERT_ROWS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops::internal {

void WidenRow(const Float16* from, float* to, int64_t n);
void WidenRow(const BFloat16* from, float* to, int64_t n);
void NarrowRow(const float* from, Float16* to, int64_t n);
void NarrowRow(const float* from, BFloat16* to, int64_t n);

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_CONVERT_ROWS_H_
