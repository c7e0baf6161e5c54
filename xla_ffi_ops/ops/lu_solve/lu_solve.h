// SPDX-License-Identifier: Apache-2.0
// Solutions of systems whose LU factors are known, on the CPU.
#ifndef XLA_FFI_OPS_OPS_LU_SOLVE_LU_SOLVE_H_
#define XLA_FFI_OPS_OPS_LU_SOLVE_LU_SOLVE_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Systems op(A) x = b of n equations, each with k right-hand sides: b and x are
// [n, k]. Row i of L U is row order[i] of A. op transposes, conjugates, or does
// both.
template <typename T>
struct FactoredSystems {
  int64_t n, k;
  bool transpose, conjugate;
  Rows<const T> lu;
  Rows<const int32_t> order;
  Rows<const T> b;
  Rows<T> x;

  int64_t Multiplications() const { return 2 * n * n * (k + 1); }
};

// Solves the systems [begin, end).
template <typename T>
void Compute(const FactoredSystems<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_LU_SOLVE_LU_SOLVE_H_
