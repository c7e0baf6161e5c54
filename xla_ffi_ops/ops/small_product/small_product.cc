// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/small_product/small_product.h"

#include <complex>
#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/products.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const SmallProducts<T>& products, int64_t begin, int64_t end) {
  const int64_t m = products.m, k = products.k, n = products.n;
  const int64_t b = m * k, c = b + k * n;
  linalg::MatrixCall<T> call;
  call.memory = c + m * n;
  call.Add(products.a, 0);
  call.Add(products.b, b);
  call.Add(products.c, c);
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    linalg::Multiply(m, k, n, a, a + b, a + c);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T) \
  template void Compute(const SmallProducts<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
