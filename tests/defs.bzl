# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_python//python:defs.bzl", "py_test")

def jax_test(name, src = None, deps = [], **kwargs):
    """A py_test of jax_ffi_ops whose source is `src`, or `name`.py."""
    py_test(
        name = name,
        size = "medium",
        srcs = [src or name + ".py"],
        main = src or name + ".py",
        legacy_create_init = False,
        visibility = ["//tests:__subpackages__"],
        deps = deps + [
            "//python/jax_ffi_ops",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
        **kwargs
    )
