// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/expm/expm.h"

#include <cstdint>

#include "xla_ffi_ops/linalg/expm_lanes.h"
#include "xla_ffi_ops/linalg/groups.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const Exponentials<T>& exponentials, int64_t begin, int64_t end) {
  const int64_t n = exponentials.n, most = exponentials.max_squarings;
  linalg::MatrixCall<T> call;
  call.memory = linalg::ExpmMemory(n, 1);
  call.Add(exponentials.a, 0);
  call.Add(exponentials.y, 0);
  const auto kernel = [=](auto* a)
                          XLA_FFI_OPS_INLINED { linalg::Expm(n, most, a); };
  linalg::ForMatrices(call, kernel, begin, end);
}

template <typename T>
void Compute(const ExponentialGradients<T>& gradients, int64_t begin,
             int64_t end) {
  const int64_t n = gradients.n, most = gradients.max_squarings;
  const int64_t a = linalg::ExpmMemory(n, 2), dy = a + n * n;
  linalg::MatrixCall<T> call;
  call.memory = dy + n * n;
  call.Add(gradients.a, a);
  call.Add(gradients.dy, dy);
  call.Add(gradients.da, dy);
  const auto kernel = [=](auto* memory) XLA_FFI_OPS_INLINED {
    linalg::ExpmGradient(n, most, memory + a, memory + dy, memory);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T)                                 \
  template void Compute(const Exponentials<T>&, int64_t, int64_t); \
  template void Compute(const ExponentialGradients<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
