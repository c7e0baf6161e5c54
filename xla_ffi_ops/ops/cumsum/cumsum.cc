// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/scans/total.h"
#include "xla_ffi_ops/scans/typed_scan.h"

namespace xla_ffi_ops {

template std::unique_ptr<ScanKernel> MakeScan<internal::Sum>(int, int64_t, bool,
                                                             const void*);
template void ColumnTotals(const Float16*, int64_t, int64_t, double*);
template void ColumnTotals(const BFloat16*, int64_t, int64_t, double*);
template void ColumnTotals(const float*, int64_t, int64_t, double*);
template void ColumnTotals(const double*, int64_t, int64_t, double*);

}  // namespace xla_ffi_ops
