// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/rows/cpu/long_sums.h"

#include <cstdint>

#include "xla_ffi_ops/vec/compensated.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {
namespace {

template <typename Acc>
void Add(const Acc* terms, Compensated<Acc>* totals, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) totals[j].Add(terms[j]);
  });
}

}  // namespace

void AddEach(const float* terms, Compensated<float>* totals, int64_t n) {
  Add(terms, totals, n);
}

void AddEach(const double* terms, Compensated<double>* totals, int64_t n) {
  Add(terms, totals, n);
}

}  // namespace xla_ffi_ops::internal
