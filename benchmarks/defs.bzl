# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that cannot rot: each is also a test that runs once."""

load("@rules_python//python:defs.bzl", "py_binary", "py_test")

def benchmark(name, srcs = [], deps = [], test_args = []):
    """A program of `name`.py, and the test `name`_test that runs one round of it.

    Args:
      name: of the py_binary.
      srcs: more sources, that only this program has.
      deps: more dependencies.
      test_args: for the test, beside --repeats=1.
    """
    common = dict(
        srcs = [name + ".py"] + srcs,
        legacy_create_init = False,
        main = name + ".py",
        deps = deps + [
            ":interleaving",
            "//python/jax_ffi_ops",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
    )
    py_binary(
        name = name,
        visibility = ["//tests:__subpackages__"],
        **common
    )
    py_test(
        name = name + "_test",
        size = "small",
        args = ["--repeats=1"] + test_args,
        **common
    )
