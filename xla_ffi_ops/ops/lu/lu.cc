// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/lu/lu.h"

#include <complex>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/lu_lanes.h"
#include "xla_ffi_ops/linalg/number.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const LuFactors<T>& factors, int64_t begin, int64_t end) {
  const int64_t n = factors.n, size = n * n;
  linalg::MatrixCall<T> call;
  call.memory = 2 * size + 3 * n;
  call.Add(factors.a, 0);
  call.Add(factors.lu, size);
  call.Add(factors.pivots, 2 * size);
  call.Add(factors.order, 2 * size + n);
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    using V = std::decay_t<decltype(*a)>;
    using R = linalg::Real<V>;
    const auto numbers = [&](int64_t i) XLA_FFI_OPS_INLINED {
      return reinterpret_cast<R*>(a + 2 * size + i * n);
    };
    const linalg::Pivoting<R> found{
        numbers(0), numbers(1), reinterpret_cast<math::Bits<R>*>(numbers(2))};
    linalg::AtRows<V>(n, [&](auto rows) XLA_FFI_OPS_INLINED {
      linalg::LuFactor(rows, rows, a, a + size, found);
    });
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

template void Compute(const LuFactors<float>&, int64_t, int64_t);
template void Compute(const LuFactors<double>&, int64_t, int64_t);
template void Compute(const LuFactors<std::complex<float>>&, int64_t, int64_t);
template void Compute(const LuFactors<std::complex<double>>&, int64_t, int64_t);

}  // namespace xla_ffi_ops
