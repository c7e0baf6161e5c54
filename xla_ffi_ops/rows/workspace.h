// SPDX-License-Identifier: Apache-2.0
// Where a CUDA kernel leaves a sum over rows.
#ifndef XLA_FFI_OPS_ROWS_WORKSPACE_H_
#define XLA_FFI_OPS_ROWS_WORKSPACE_H_

#include <cstdint>

namespace xla_ffi_ops {

// out[groups, cols] gets the sums, each rounded once; nothing is summed if it
// is null. memory[groups, parts, cols], with any parts >= 1, is written
// meanwhile: more parts keep more of the device busy, and lose less accuracy.
template <typename W, typename Acc>
struct Workspace {
  W* out;
  Acc* memory;
  int64_t parts;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_WORKSPACE_H_
