# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("@rules_python//python:defs.bzl", "py_test")
load("//xla_ffi_ops:options.bzl", "WARNINGS")

def kit_cc_test(name, src = None, size = "small", copts = [], deps = [], **kwargs):
    """A cc_test of the C++ kit on a fake runtime; its source is `src`, or `name`.cc."""
    cc_test(
        name = name,
        size = size,
        srcs = [src or name + ".cc"],
        copts = ["-std=c++17"] + WARNINGS + copts,
        deps = deps + [
            ":fake_xla",
            "//xla_ffi_ops:ffi",
        ],
        **kwargs
    )

def kit_py_test(name, deps = [], **kwargs):
    """A py_test of handlers that use the C++ kit, whose source is `name`.py."""
    py_test(
        name = name,
        size = "small",
        srcs = [name + ".py"],
        legacy_create_init = False,
        deps = deps + [
            ":handlers",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
        **kwargs
    )
