// SPDX-License-Identifier: Apache-2.0
// LU factors of square matrices on the CPU, with LAPACK's pivots: P A = L U.
#ifndef XLA_FFI_OPS_OPS_LU_LU_H_
#define XLA_FFI_OPS_OPS_LU_LU_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Matrices of n rows. `lu` has U and, below the diagonal, L. Step i exchanges
// rows i and pivots[i]. In the end, row i is row order[i] of A.
template <typename T>
struct LuFactors {
  int64_t n;
  Rows<const T> a;
  Rows<T> lu;
  Rows<int32_t> pivots, order;

  int64_t Multiplications() const { return 2 * n * n * n; }
};

// Computes the matrices [begin, end).
template <typename T>
void Compute(const LuFactors<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_LU_LU_H_
