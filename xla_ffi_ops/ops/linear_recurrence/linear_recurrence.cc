// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "xla_ffi_ops/scans/recurrences/recurrence_column_ends.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_columns.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_row_ends.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_rows.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

#define XLA_FFI_OPS_INSTANTIATE(T)                                           \
  template int64_t RecurrenceRowsAtOnce<T>();                                \
  template void RunRecurrenceRows(const Recurrence<T>&, int64_t, int64_t);   \
  template void RunRecurrenceColumns(const Recurrence<T>&, int64_t, int64_t, \
                                     int64_t);

#define XLA_FFI_OPS_INSTANTIATE_REAL(T)                                   \
  XLA_FFI_OPS_INSTANTIATE(T)                                              \
  template void RunRowEnds(const RecurrenceEnds<T>&, int64_t, int64_t);   \
  template void RunColumnEnds(const RecurrenceEnds<T>&, int64_t, int64_t, \
                              int64_t);

XLA_FFI_OPS_INSTANTIATE_REAL(Float16)
XLA_FFI_OPS_INSTANTIATE_REAL(BFloat16)
XLA_FFI_OPS_INSTANTIATE_REAL(float)
XLA_FFI_OPS_INSTANTIATE_REAL(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE_REAL
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
