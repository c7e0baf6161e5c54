// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/scans/scan_ops.h"
#include "xla_ffi_ops/scans/typed_scan.h"

namespace xla_ffi_ops {

template struct ScanKernels<internal::Product>;

}  // namespace xla_ffi_ops
