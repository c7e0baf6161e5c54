// SPDX-License-Identifier: Apache-2.0
// y = 3 x: the handler and a Python extension, by pybind11, in one file.
#include <pybind11/pybind11.h>

#include <algorithm>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

ffi::Error Thrice(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() != y->element_count()) {
    return ffi::Error::InvalidArgument("y must have as many elements as x");
  }
  std::transform(x.typed_data(), x.typed_data() + x.element_count(),
                 y->typed_data(), [](float value) { return 3 * value; });
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    ThriceHandler, Thrice,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

PYBIND11_MODULE(thrice_pybind11, module) {
  module.def("handler", [] {
    return pybind11::capsule(reinterpret_cast<void*>(ThriceHandler));
  });
}
