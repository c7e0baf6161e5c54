// SPDX-License-Identifier: Apache-2.0
// The handler for both devices. XLA's headers check dtypes and ranks, since the
// buffers are typed; the function checks sizes.
#include <cstdint>
#include <string>

#include "cyclic_add.h"
#include "xla_ffi_ops/ffi.h"

namespace cyclic_add {
namespace {

namespace ffi = xla::ffi;

template <typename Device>
xla_ffi_ops::HandlerResult Handler(Device device, ffi::BufferR1<ffi::F32> a,
                                   ffi::BufferR1<ffi::F32> b,
                                   ffi::ResultBufferR1<ffi::F32> out) {
  const int64_t n = a.dimensions()[0];
  const int64_t size = b.dimensions()[0];
  if (n <= 0) {
    return ffi::Error::InvalidArgument("a must have an element, got none");
  }
  if (out->dimensions()[0] != size) {
    return ffi::Error::InvalidArgument("out must have " + std::to_string(size) +
                                       " elements, as b, got " +
                                       std::to_string(out->dimensions()[0]));
  }
  return xla_ffi_ops::ForRows(
      device, size, 2 * sizeof(float),
      [=, a = a.typed_data(), b = b.typed_data(), out = out->typed_data()](
          auto where, int64_t begin, int64_t end) {
        Add(where, begin, end, n, a, b, out);
        return ffi::Error::Success();
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_cyclic_add, Handler,
                           .Arg<ffi::BufferR1<ffi::F32>>()        // a
                               .Arg<ffi::BufferR1<ffi::F32>>()    // b
                               .Ret<ffi::BufferR1<ffi::F32>>());  // out

}  // namespace cyclic_add
