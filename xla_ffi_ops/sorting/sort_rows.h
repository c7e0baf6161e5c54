// SPDX-License-Identifier: Apache-2.0
// Sorts rows over threads, and arrays along any axis.
#ifndef XLA_FFI_OPS_SORTING_SORT_ROWS_H_
#define XLA_FFI_OPS_SORTING_SORT_ROWS_H_

#include <cstdint>
#include <memory>

#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops {

// Sorts [rows, kernel->n, columns] arrays along the axis in the middle. The
// results are the same for any number of threads.
HandlerResult SortRows(const CpuContext& device,
                       std::shared_ptr<const RowKernel> kernel, const void* x,
                       void* y, int64_t rows, int64_t columns);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SORTING_SORT_ROWS_H_
