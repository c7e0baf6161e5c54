// SPDX-License-Identifier: Apache-2.0
// A handler that wants a matrix column by column: each column is one run of
// memory, and its running sum one loop over it.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

// `dimensions()` is [rows, columns] whatever the layout is: FFI does not tell a
// handler its layouts. They are part of what caller and handler agree on.
ffi::Error RunningSums(xla_ffi_ops::CpuContext, ffi::BufferR2<ffi::F32> x,
                       ffi::ResultBufferR2<ffi::F32> y) {
  const auto shape = x.dimensions(), got = y->dimensions();
  if (!std::equal(shape.begin(), shape.end(), got.begin())) {
    return ffi::Error::InvalidArgument("y must have the shape of x");
  }
  const int64_t rows = shape[0], columns = shape[1];
  for (int64_t column = 0; column < columns; ++column) {
    const float* const from = x.typed_data() + column * rows;
    std::partial_sum(from, from + rows, y->typed_data() + column * rows);
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_running_sums, RunningSums,
                           .Arg<ffi::BufferR2<ffi::F32>>()        // x
                               .Ret<ffi::BufferR2<ffi::F32>>());  // y
