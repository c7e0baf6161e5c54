// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/lu_solve/lu_solve.h"

#include <complex>
#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/lu_lanes.h"
#include "xla_ffi_ops/linalg/number.h"

namespace xla_ffi_ops {

template <typename T>
void Compute(const FactoredSystems<T>& systems, int64_t begin, int64_t end) {
  const int64_t n = systems.n, k = systems.k, size = n * n;
  const bool transpose = systems.transpose, conjugate = systems.conjugate;
  linalg::MatrixCall<T> call;
  call.memory = size + 2 * n * k + n;
  call.Add(systems.lu, 0);
  call.Add(systems.b, size);
  call.Add(systems.x, size + n * k);
  call.from_integers = {systems.order, size + 2 * n * k};
  const auto kernel = [=](auto* lu) XLA_FFI_OPS_INLINED {
    using V = std::decay_t<decltype(*lu)>;
    using R = linalg::Real<V>;
    const auto* order = reinterpret_cast<const R*>(lu + size + 2 * n * k);
    linalg::AtRows<V>(n, [&](auto rows) XLA_FFI_OPS_INLINED {
      if (conjugate) linalg::Conjugate(size, lu);
      linalg::AtSize<1>(k, [&](auto columns) XLA_FFI_OPS_INLINED {
        if (transpose) {
          linalg::LuSolveTransposed(rows, columns, lu, order, lu + size,
                                    lu + size + n * k);
        } else {
          linalg::LuSolve(rows, columns, lu, order, lu + size,
                          lu + size + n * k);
        }
      });
    });
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T) \
  template void Compute(const FactoredSystems<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
XLA_FFI_OPS_INSTANTIATE(std::complex<float>)
XLA_FFI_OPS_INSTANTIATE(std::complex<double>)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
