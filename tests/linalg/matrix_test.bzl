# SPDX-License-Identifier: Apache-2.0
"""The tests of an op of small matrices."""

load("//tests:defs.bzl", "THOROUGH", "jax_test")

def matrix_test(name, quick):
    """A test, a thorough one, and as on machines without AVX-512, and without AVX2.

    Args:
      name: <op>_test. The source is `name`.py.
      quick: the classes that the quick test runs.
    """
    op = name.removesuffix("_test")
    for test, args, env in [
        (name, quick, {}),
        (op + "_thorough_test", [], THOROUGH),
        (op + "_v1_test", quick, THOROUGH | {"XLA_FFI_OPS_CPU_LEVEL": "1"}),
        (op + "_v3_test", quick, THOROUGH | {"XLA_FFI_OPS_CPU_LEVEL": "3"}),
    ]:
        jax_test(
            name = test,
            size = "medium" if test == name else "large",
            src = name + ".py",
            args = args,
            env = env,
            ops = "//python/jax_ffi_ops/linalg",
            tags = [] if test == name else ["slow"],
            deps = [
                ":matrices",
                "//python/jax_ffi_ops/kit:testing",
                "@xla_ffi_ops_pypi//:scipy",
            ],
        )
