// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/scans/recurrences/recurrence_columns.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_rows.h"

namespace xla_ffi_ops {

#define XLA_FFI_OPS_INSTANTIATE(T)                                           \
  template int64_t RecurrenceRowsAtOnce<T>();                                \
  template void RunRecurrenceRows(const Advantages<T>&, int64_t, int64_t);   \
  template void RunRecurrenceColumns(const Advantages<T>&, int64_t, int64_t, \
                                     int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
