// SPDX-License-Identifier: Apache-2.0
// A Python extension, by nanobind, that hands out the handler.
#include <nanobind/nanobind.h>

#include <type_traits>

#include "twice.h"

// What a capsule holds has no type: this is the only check of it.
static_assert(std::is_invocable_r_v<XLA_FFI_Error*, decltype(example_twice_cpu),
                                    XLA_FFI_CallFrame*>,
              "not an FFI handler");

NB_MODULE(twice_nanobind, module) {
  module.def("handler", [] {
    return nanobind::capsule(reinterpret_cast<void*>(example_twice_cpu));
  });
}
