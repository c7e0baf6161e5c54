// SPDX-License-Identifier: Apache-2.0
// Columns to rows, and back.
#ifndef XLA_FFI_OPS_SORTING_TRANSPOSE_H_
#define XLA_FFI_OPS_SORTING_TRANSPOSE_H_

#include <cstddef>
#include <cstdint>

namespace xla_ffi_ops {

// to[j, i] = from[i, j] for i < n and j < columns; rows of `from` and of `to`
// are as far apart as the strides say.
template <typename T>
void Transpose(const char* from, int64_t from_stride, int64_t n,
               int64_t columns, char* to, int64_t to_stride) {
  const T* const x = reinterpret_cast<const T*>(from);
  T* const y = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      y[j * to_stride + i] = x[i * from_stride + j];
    }
  }
}

template <typename... Args>
void TransposeBytes(size_t bytes, Args... args) {
  switch (bytes) {
    case 1:
      return Transpose<uint8_t>(args...);
    case 2:
      return Transpose<uint16_t>(args...);
    case 4:
      return Transpose<uint32_t>(args...);
    default:
      return Transpose<uint64_t>(args...);
  }
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SORTING_TRANSPOSE_H_
