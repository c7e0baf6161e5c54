// SPDX-License-Identifier: Apache-2.0
// A Python extension, by Python's C API alone, that hands out the handler.
#include <Python.h>

#include <type_traits>

#include "twice.h"

// What a capsule holds has no type: this is the only check of it.
static_assert(std::is_invocable_r_v<XLA_FFI_Error*, decltype(example_twice_cpu),
                                    XLA_FFI_CallFrame*>,
              "not an FFI handler");

namespace {

PyObject* Handler(PyObject*, PyObject*) {
  return PyCapsule_New(reinterpret_cast<void*>(example_twice_cpu), nullptr,
                       nullptr);
}

PyMethodDef methods[] = {{"handler", Handler, METH_NOARGS, nullptr}, {}};
PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "twice_c_api",
                      nullptr,
                      -1,
                      methods,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_twice_c_api() { return PyModule_Create(&module); }
