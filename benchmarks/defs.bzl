# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that cannot rot: each is also a test that runs once."""

load("@rules_python//python:defs.bzl", "py_binary", "py_test")

def benchmark(name, tests = {}, slow = []):
    """A program of `name`.py, and tests that run it.

    Args:
      name: of the py_binary.
      tests: names of tests to further arguments.
      slow: those of them that are tagged so.
    """
    common = dict(
        srcs = [name + ".py"],
        legacy_create_init = False,
        main = name + ".py",
        deps = [":harness"],
    )
    py_binary(
        name = name,
        # Large results take huge pages: docs/performance.md. setting.py removes it.
        env = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
        visibility = ["//tests:__subpackages__"],
        **common
    )
    for test, args in tests.items():
        py_test(
            name = test,
            size = "medium",
            args = args,
            env = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
            tags = ["slow"] if test in slow else [],
            **common
        )
