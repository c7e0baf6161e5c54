// SPDX-License-Identifier: Apache-2.0
// A view of an array as rows, in which leading dimensions may be broadcast. A
// row is what one step of the loops works on: a vector, or a whole matrix.
#ifndef XLA_FFI_OPS_KIT_ROWS_H_
#define XLA_FFI_OPS_KIT_ROWS_H_

#include <cstdint>

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

  int64_t operator()(int64_t row) const {
    int64_t index = 0;
#ifndef __CUDACC__    // Which has another, and its own function for kernels.
#pragma GCC unroll 1  // Rare; unrolled, it would be most of a kernel's code.
#endif
    for (int d = dims - 1; d > 0; --d) {
      index += row % size[d] * stride[d];
      row /= size[d];
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

  T* operator[](int64_t row) const { return data + map(row) * cols; }
};

// Rows of ones: stands for a weight that is not there.
struct Ones {
  struct Row {
    float operator[](int64_t) const { return 1.0f; }
  };

  Row operator[](int64_t) const { return {}; }
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_KIT_ROWS_H_
