// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/loops/lane_copies.h"

#include <cstdint>

#include "xla_ffi_ops/loops/table.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/lane_rows.h"

namespace xla_ffi_ops::lanes {
namespace {

template <bool to_lanes, typename T, int vector_bytes>
void Copy(const Array& array, const Block& block, void* lanes) {
  AtLevelOfVectors<vector_bytes>([&]() XLA_FFI_OPS_INLINED {
    constexpr int count = vector_bytes / sizeof(T);
    T* rows[count];
    for (int l = 0; l < count; ++l) {
      rows[l] =
          static_cast<T*>(array.data) + array.map(block.Row(l)) * array.size;
    }
    xla_ffi_ops::internal::CopyLanes<to_lanes, count>(rows, array.size,
                                                      static_cast<T*>(lanes));
  });
}

// Integers are moved as they are, as are numbers of floating point.
template <bool to_lanes>
void Copy(const Array& array, const Block& block, int64_t element_bytes,
          int64_t vector_bytes, void* lanes) {
  const bool is_wide = vector_bytes == kVectorBytes<4>;
  if (element_bytes == 8) {
    is_wide ? Copy<to_lanes, int64_t, kVectorBytes<4>>(array, block, lanes)
            : Copy<to_lanes, int64_t, kVectorBytes<3>>(array, block, lanes);
  } else {
    is_wide ? Copy<to_lanes, int32_t, kVectorBytes<4>>(array, block, lanes)
            : Copy<to_lanes, int32_t, kVectorBytes<3>>(array, block, lanes);
  }
}

}  // namespace

void CopyToLanes(const Array& array, const Block& block, int64_t element_bytes,
                 int64_t vector_bytes, void* lanes) {
  Copy<true>(array, block, element_bytes, vector_bytes, lanes);
}

void CopyToRows(const Array& array, const Block& block, int64_t element_bytes,
                int64_t vector_bytes, void* lanes) {
  Copy<false>(array, block, element_bytes, vector_bytes, lanes);
}

}  // namespace xla_ffi_ops::lanes
