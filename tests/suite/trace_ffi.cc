// SPDX-License-Identifier: Apache-2.0
// The sum of a diagonal, (n,n)->(), by a handler whose buffers have fixed
// ranks.
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Matrix = ffi::BufferR2<ffi::F32>;
using Number = ffi::Result<ffi::BufferR0<ffi::F32>>;

HandlerResult Trace(CpuContext, Matrix x, Number y) {
  const int64_t columns = x.dimensions()[1];
  float sum = 0;
  for (int64_t i = 0; i < std::min(x.dimensions()[0], columns); ++i) {
    sum += x.typed_data()[i * columns + i];
  }
  *y->typed_data() = sum;
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_trace_fwd, Trace,
                           .Arg<Matrix>()                         // x
                               .Ret<ffi::BufferR0<ffi::F32>>());  // y

}  // namespace xla_ffi_ops
