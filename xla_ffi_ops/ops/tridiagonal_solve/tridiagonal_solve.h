// SPDX-License-Identifier: Apache-2.0
// Tridiagonal systems on the CPU, by Gaussian elimination with partial
// pivoting: the order of operations is that of LAPACK's gtsv.
#ifndef XLA_FFI_OPS_OPS_TRIDIAGONAL_SOLVE_TRIDIAGONAL_SOLVE_H_
#define XLA_FFI_OPS_OPS_TRIDIAGONAL_SOLVE_TRIDIAGONAL_SOLVE_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Systems of n equations, each with k right-hand sides: b and x are [n, k].
template <typename T>
struct TridiagonalSystems {
  int64_t n, k;
  Rows<const T> dl, d, du;  // dl[0] and du[n - 1] are not read
  Rows<const T> b;
  T* x;
};

// Solves systems [begin, end). A system that is singular has NaNs for results.
template <typename T>
void SolveTridiagonal(const TridiagonalSystems<T>& systems, int64_t begin,
                      int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_TRIDIAGONAL_SOLVE_TRIDIAGONAL_SOLVE_H_
