# SPDX-License-Identifier: Apache-2.0
"""Programs that print what a page has to have."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

def tested_program(name, data, deps):
    """A program, and the test that the page has what it prints.

    Args:
      name: the program is `name`.py, the test `name`_test.py.
      data: what both read.
      deps: what the program imports.
    """
    py_library(
        name = name + "_lib",
        testonly = True,
        srcs = [name + ".py"],
        data = data,
        imports = ["."],
        deps = deps,
    )
    py_binary(
        name = name,
        testonly = True,
        srcs = [name + ".py"],
        legacy_create_init = False,
        deps = [name + "_lib"],
    )
    py_test(
        name = name + "_test",
        size = "small",
        srcs = [name + "_test.py"],
        legacy_create_init = False,
        deps = [
            name + "_lib",
            "@xla_ffi_ops_pypi//:absl_py",
        ],
    )
