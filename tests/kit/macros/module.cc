// SPDX-License-Identifier: Apache-2.0
// A Python extension that says whether NDEBUG is defined.
#include <Python.h>

#include "tests/kit/macros/dep.h"

#ifndef FROM_COPTS
#error "copts"
#endif

#ifdef NDEBUG
#define IS_RELEASE 1
#else
#define IS_RELEASE 0
#endif

namespace {

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "module",
                      nullptr,
                      -1,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_module() {
  PyObject* made = PyModule_Create(&module);
  if (made != nullptr) {
    PyModule_AddIntConstant(made, "IS_RELEASE", IS_RELEASE);
  }
  return made;
}
