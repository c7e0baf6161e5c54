// SPDX-License-Identifier: Apache-2.0
// Products of small matrices on the CPU.
#ifndef XLA_FFI_OPS_OPS_SMALL_PRODUCT_SMALL_PRODUCT_H_
#define XLA_FFI_OPS_OPS_SMALL_PRODUCT_SMALL_PRODUCT_H_

#include <cstdint>

#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// c = a b, for a of [m, k] and b of [k, n].
template <typename T>
struct SmallProducts {
  int64_t m, k, n;
  Rows<const T> a, b;
  Rows<T> c;

  int64_t Multiplications() const { return m * k * n; }
};

// Computes the products [begin, end).
template <typename T>
void Compute(const SmallProducts<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_SMALL_PRODUCT_SMALL_PRODUCT_H_
