// SPDX-License-Identifier: Apache-2.0
// A Python extension, by pybind11, that hands out the handler.
#include <pybind11/pybind11.h>

#include <type_traits>

#include "twice.h"

// What a capsule holds has no type: this is the only check of it.
static_assert(std::is_invocable_r_v<XLA_FFI_Error*, decltype(example_twice_cpu),
                                    XLA_FFI_CallFrame*>,
              "not an FFI handler");

PYBIND11_MODULE(twice_pybind11, module) {
  module.def("handler", [] {
    return pybind11::capsule(reinterpret_cast<void*>(example_twice_cpu));
  });
}
