// SPDX-License-Identifier: Apache-2.0
// Banded systems on the CPU, by Gaussian elimination with partial pivoting: the
// pivots are those of LAPACK's gbsv.
#ifndef XLA_FFI_OPS_OPS_SOLVE_BANDED_SOLVE_BANDED_H_
#define XLA_FFI_OPS_OPS_SOLVE_BANDED_SOLVE_BANDED_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// Systems of n equations, each with k right-hand sides: b and x are [n, k]. Row
// `diagonal` + i - j of ab has A[i, j] at j, where i - j is from -`upper` to
// `lower`, which are less than n.
template <typename T>
struct BandedSystems {
  int64_t width() const { return lower + upper + 1; }

  int64_t n, k, diagonal, lower, upper;
  Rows<const T> ab, b;
  T* x;
};

// Solves systems [begin, end). A system that is singular has NaNs for results.
template <typename T>
void SolveBanded(const BandedSystems<T>& systems, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_SOLVE_BANDED_SOLVE_BANDED_H_
