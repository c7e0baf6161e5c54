# SPDX-License-Identifier: Apache-2.0
"""Examples that time functions against each other."""

load("@rules_python//python:defs.bzl", "py_binary", "py_test")

def comparison(name, test, ours = "@xla_ffi_ops//python/jax_ffi_ops", **kwargs):
    """The program `name`.py, which times functions and draws a plot, and its test.

    Args:
      name: of the py_binary.
      test: the name of the py_test; its source is `test`.py.
      ours: what has the functions that are timed.
      **kwargs: for the py_test.
    """
    native.exports_files(["README.md"] + native.glob(["*.svg"]))
    deps = [
        ours,
        "@xla_ffi_ops//examples:comparison",
        "@xla_ffi_ops//python/pypi:jax",
        "@xla_ffi_ops//python/pypi:numpy",
    ]
    py_binary(
        name = name,
        srcs = [name + ".py"],
        env = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
        imports = ["."],
        legacy_create_init = False,
        deps = deps + ["@xla_ffi_ops//examples:plot"],
    )
    py_test(
        name = test,
        srcs = [
            name + ".py",
            test + ".py",
        ],
        imports = ["."],
        legacy_create_init = False,
        deps = deps + ["@xla_ffi_ops//python/pypi:absl_py"],
        **kwargs
    )
