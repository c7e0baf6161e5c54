// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/triangular_solve/triangular_solve.h"

#include <complex>
#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/triangular.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const TriangularSystems<T>& systems, int64_t begin, int64_t end) {
  const int64_t n = systems.n, k = systems.k;
  const linalg::Triangle of = systems.of;
  linalg::MatrixCall<T> call;
  call.memory = n * (n + k);
  call.Add(systems.a, 0);
  call.Add(systems.b, n * n);
  call.Add(systems.x, n * n);
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    linalg::AtSize<1>(k, [&](auto columns) XLA_FFI_OPS_INLINED {
      linalg::SolveTriangular(n, columns, of, a, a + n * n);
    });
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

template <typename T>
void Compute(const TriangularGradients<T>& gradients, int64_t begin,
             int64_t end) {
  const int64_t n = gradients.n, k = gradients.k;
  const linalg::Triangle of = gradients.of;
  linalg::MatrixCall<T> call;
  call.memory = 2 * n * (n + k);
  call.Add(gradients.a, 0);
  call.Add(gradients.x, n * n);
  call.Add(gradients.dx, n * (n + k));
  call.Add(gradients.db, n * (n + k));
  call.Add(gradients.da, n * (n + 2 * k));
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    linalg::TriangularGradient(n, k, of, a, a + n * n, a + n * (n + k),
                               a + n * (n + 2 * k));
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T)                                      \
  template void Compute(const TriangularSystems<T>&, int64_t, int64_t); \
  template void Compute(const TriangularGradients<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
