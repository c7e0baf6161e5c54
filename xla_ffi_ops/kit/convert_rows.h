// SPDX-License-Identifier: Apache-2.0
// Conversions of whole rows on the CPU. Kernels compute rows of float16 as rows
// of float: the hardware converts them, and kernels are compiled for fewer
// types. Those of bfloat16 are taken in pairs (row_elements.h), without the
// conversions here.
#ifndef XLA_FFI_OPS_KIT_CONVERT_ROWS_H_
#define XLA_FFI_OPS_KIT_CONVERT_ROWS_H_

#include <cstdint>

#include "xla_ffi_ops/kit/float16.h"

namespace xla_ffi_ops::internal {

void WidenRow(const Float16* from, float* to, int64_t n);
void WidenRow(const BFloat16* from, float* to, int64_t n);
// So that they are SplitPairs.
void SplitRow(const BFloat16* from, float* to, int64_t n);
void SplitRow(const float* from, float* to, int64_t n);
// SplitPairs are in the order of the row again.
void JoinRow(float* row, int64_t n);
void NarrowRow(const float* from, Float16* to, int64_t n);
void NarrowRow(const float* from, BFloat16* to, int64_t n);

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_CONVERT_ROWS_H_
