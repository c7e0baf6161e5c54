# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_python//python:defs.bzl", "py_test")

def jax_test(name, size = "medium", deps = [], **kwargs):
    """A py_test of jax_ffi_ops whose source is `name`.py."""
    py_test(
        name = name,
        size = size,
        srcs = [name + ".py"],
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

def op_test(op, size = "medium", shards = 4, deps = []):
    """The test of an op: `op`_test.py, beside which this is called.

    Args:
      op: its name.
      size: of the test, as for py_test.
      shards: how many processes share it.
      deps: what it imports but jax_ffi_ops and its kit.
    """
    jax_test(
        name = op + "_test",
        size = size,
        shard_count = shards,
        tags = ["op"],
        deps = deps + ["//python/jax_ffi_ops/kit:testing"],
    )
