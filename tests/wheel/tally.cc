// SPDX-License-Identifier: Apache-2.0
// A handler of tally(x, counts) = sum of x * counts, for typed buffers.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

template <typename Buffer>
static std::vector<int64_t> Shape(const Buffer& buffer) {
  return {buffer.dimensions().begin(), buffer.dimensions().end()};
}

static ffi::Error Tally(ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::S32> counts,
                        ffi::ResultBuffer<ffi::F32> y) {
  const std::vector<int64_t> in = Shape(x);
  std::vector<int64_t> rows = Shape(*y);
  rows.push_back(in.empty() ? 0 : in.back());
  if (in != rows || in != Shape(counts)) {
    return ffi::Error::InvalidArgument("x and counts are [..., n], y is [...]");
  }
  const int64_t n = in.back();
  for (size_t row = 0; row < y->element_count(); ++row) {
    float sum = 0;
    for (int64_t i = row * n; i < static_cast<int64_t>(row + 1) * n; ++i) {
      sum += x.typed_data()[i] * static_cast<float>(counts.typed_data()[i]);
    }
    y->typed_data()[row] = sum;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(TallyHandler, Tally,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()    // x
                                  .Arg<ffi::Buffer<ffi::S32>>()    // counts
                                  .Ret<ffi::Buffer<ffi::F32>>());  // y
