# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_python//python:defs.bzl", "py_test")

def cuda_test(name, deps = [], **kwargs):
    """A py_test whose source is `name`.py, of what --config=cuda builds; it needs no GPU."""
    py_test(
        name = name,
        size = "small",
        srcs = [name + ".py"],
        legacy_create_init = False,
        target_compatible_with = select({
            "//:cuda_enabled": [],
            "//conditions:default": ["@platforms//:incompatible"],
        }),
        deps = deps + [
            "//python/jax_ffi_ops/kit",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
        **kwargs
    )
