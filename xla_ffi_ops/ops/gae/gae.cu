// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of gae.
#include <cstdint>

#include "xla_ffi_ops/scans/cuda/advantage_scan.cuh"

namespace xla_ffi_ops {

template <>
void LaunchRecurrence(Cuda device, const Advantages<float>& call,
                      int64_t rows) {
  LaunchAdvantages(device, call, rows);
}
template <>
void LaunchRecurrence(Cuda device, const Advantages<double>& call,
                      int64_t rows) {
  LaunchAdvantages(device, call, rows);
}

}  // namespace xla_ffi_ops
