// SPDX-License-Identifier: Apache-2.0
// Rows become lanes, and lanes become rows.
#ifndef XLA_FFI_OPS_LOOPS_LANE_COPIES_H_
#define XLA_FFI_OPS_LOOPS_LANE_COPIES_H_

#include <cstdint>

#include "xla_ffi_ops/loops/table.h"

namespace xla_ffi_ops::lanes {

// Copies a block's rows of an array, [rows, elements], to lanes, [elements,
// rows], or back. A vector of elements of 4 or 8 bytes has 32 or 64.
void CopyToLanes(const Array& array, const Block& block, int64_t element_bytes,
                 int64_t vector_bytes, void* lanes);
void CopyToRows(const Array& array, const Block& block, int64_t element_bytes,
                int64_t vector_bytes, void* lanes);

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LOOPS_LANE_COPIES_H_
