// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of linear_recurrence.
#include <complex>

#include "xla_ffi_ops/scans/cuda/recurrence_end_scan.cuh"
#include "xla_ffi_ops/scans/cuda/recurrence_scan.cuh"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

#define XLA_FFI_OPS_INSTANTIATE(T) \
  template void LaunchRecurrence(Cuda, const Recurrence<T>&, int64_t);
#define XLA_FFI_OPS_INSTANTIATE_REAL(T) \
  XLA_FFI_OPS_INSTANTIATE(T)            \
  template void LaunchRecurrenceEnds(Cuda, const RecurrenceEnds<T>&, int64_t);

XLA_FFI_OPS_INSTANTIATE_REAL(Float16)
XLA_FFI_OPS_INSTANTIATE_REAL(BFloat16)
XLA_FFI_OPS_INSTANTIATE_REAL(float)
XLA_FFI_OPS_INSTANTIATE_REAL(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE_REAL
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
