// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/kit/long_sums.h"

#include <cstdint>

#include "xla_ffi_ops/kit/compensated.h"
#include "xla_ffi_ops/kit/device.h"

namespace xla_ffi_ops::internal {

XLA_FFI_OPS_CPU_KERNEL void AddEach(const float* terms,
                                    Compensated<float>* totals, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) totals[j].Add(terms[j]);
}

XLA_FFI_OPS_CPU_KERNEL void AddEach(const double* terms,
                                    Compensated<double>* totals, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) totals[j].Add(terms[j]);
}

}  // namespace xla_ffi_ops::internal
