// SPDX-License-Identifier: Apache-2.0
// What a compiled loop says of itself: tables that the build writes beside its
// kernels, and the runtime reads. No header of XLA is needed for them.
#ifndef XLA_FFI_OPS_LOOPS_TABLE_H_
#define XLA_FFI_OPS_LOOPS_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops::lanes {

// The largest vector: 16 lanes of 8 bytes.
inline constexpr int64_t kAlignment = 128;

// So many bytes or more, for what follows to be aligned. An odd number of
// vectors: with 4096 bytes between them, as 1000 steps of float32 would have,
// the elements of a step would all compete for the same lines of the cache.
inline int64_t Aligned(int64_t bytes) {
  return ((bytes / kAlignment + 1) | 1) * kAlignment;
}

// An operand or a result of a call.
struct Array {
  void* data;
  int64_t size;  // of a row, in numbers: a complex one has two
  RowMap map;
};

// Some rows of a call, one for each lane; the last lanes may have the same row.
struct Block {
  const Array* operands;
  const Array* results;
  const int64_t* sizes;  // of the handler's dimensions
  char* scratch;         // of this thread
  int64_t row;
  int64_t last;

  int64_t Row(int lane) const { return std::min(row + lane, last); }
};

// XLA's numbers of dtypes, by XLA's names.
enum Type : uint8_t {
  PRED = 1,
  S8 = 2,
  S16 = 3,
  S32 = 4,
  S64 = 5,
  U8 = 6,
  U16 = 7,
  U32 = 8,
  U64 = 9,
  F16 = 10,
  F32 = 11,
  F64 = 12,
  C64 = 15,
  BF16 = 16,
  C128 = 18,
};

// An array of constants, which may be empty.
template <typename T>
struct List {
  constexpr List() = default;
  template <int n>
  constexpr List(const T (&x)[n]) : data(x), size(n) {}  // NOLINT

  const T* begin() const { return data; }
  const T* end() const { return data + size; }
  const T& operator[](int64_t i) const { return data[i]; }

  const T* data = nullptr;
  int64_t size = 0;
};

// The size of a dimension that any call may choose, from 1 on.
inline constexpr int64_t kOpen = -1;

// A core dimension of a handler.
struct Dimension {
  const char* name;
  int64_t size;  // of each call, or kOpen
};

// An operand or a result: its core, as indices into the dimensions.
struct Declared {
  const char* name;
  List<int> core;
};

// An attribute: a scalar, or a text, whose `type` is kText.
inline constexpr int kText = -1;
struct Attribute {
  const char* name;
  int type;
};
struct Value {
  const void* data;
  size_t bytes;
};

// One compiled core.
struct Kernel {
  List<Type> types;     // of all operands, and then of all results
  List<int64_t> sizes;  // of the dimensions, or kOpen
  List<Value> values;   // of the attributes
  List<int> shared;     // the operands that it reads once for all lanes
  // Operands and results. With several lanes, `scratch` begins with copies of
  // them: an element of all lanes, and then the next one. The runtime makes
  // those of operands before it runs, and reads those of results after it.
  List<int> from_rows, to_rows;
  int64_t lane_bytes;    // a vector has so many bytes for each lane
  List<int64_t> widths;  // the numbers of lanes that it is compiled for
  int64_t (*work)(const int64_t* sizes);  // nanoseconds for a row, about
  // The other bytes of `scratch`; the largest int64_t if there are too many.
  int64_t (*memory)(const int64_t* sizes, int64_t lanes);
  void (*run)(const Block& block, int64_t lanes);
};

// A handler.
struct Table {
  const char* target;
  bool backward;
  List<Dimension> dimensions;
  List<Declared> operands, results;
  List<Attribute> attributes;  // but for batch_rank
  List<Kernel> kernels;
  mutable const void* binding = nullptr;  // The runtime's.
};

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LOOPS_TABLE_H_
