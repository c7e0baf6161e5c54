// SPDX-License-Identifier: Apache-2.0
// A view of an array as rows, in which leading dimensions may be broadcast. A
// row is what one step of the loops works on: a vector, or a whole matrix.
#ifndef XLA_FFI_OPS_VEC_ROW_MAP_H_
#define XLA_FFI_OPS_VEC_ROW_MAP_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

// Maps the index of a row of the full iteration space to the index of the row
// of one operand. Neighbouring dimensions of the same kind (in full, or
// broadcast) are merged, so an ordinary operand has a single one of stride 1
// and a weight shared by all rows a single one of stride 0.
//
// Checks::Map makes it; the default maps every row to row 0.
struct RowMap {
  static constexpr int kMaxDims = 8;

  int dims = 1;                    // at least 1, the outermost first
  int64_t size[kMaxDims] = {1};    // size[0] is not read
  int64_t stride[kMaxDims] = {0};  // in rows of the operand; 0: broadcast

  XLA_FFI_OPS_HD int64_t operator()(int64_t row) const {
    return dims == 1 ? row * stride[0] : Locate(row);
  }

 private:
#ifdef __CUDACC__
  XLA_FFI_OPS_HD
#else
  [[gnu::noinline, gnu::cold]]  // Inlined, it would be most of a kernel's code.
#endif
  int64_t Locate(int64_t row) const {
    int64_t index = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int d = dims - 1; d > 0; --d) {
      const int64_t rest = row / size[d];
      index += (row - rest * size[d]) * stride[d];
      row = rest;
    }
    return index + row * stride[0];
  }
};

// rows[i] points to the first of the `cols` contiguous elements of row i.
template <typename T>
struct Rows {
  T* data;
  int64_t cols;  // the product of the core dimensions
  RowMap map;

  XLA_FFI_OPS_HD T* operator[](int64_t row) const {
    return data + map(row) * cols;
  }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_ROW_MAP_H_
