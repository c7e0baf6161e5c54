// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "xla_ffi_ops/scans/filters/filter_gradients.h"
#include "xla_ffi_ops/scans/filters/filter_signals.h"

namespace xla_ffi_ops {

#define XLA_FFI_OPS_INSTANTIATE(T)                             \
  template int64_t FilterSignalsAtOnce<T>();                   \
  template void RunFilter(const Filter<T>&, int64_t, int64_t); \
  template void RunFilter(const FilterGradients<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
