# SPDX-License-Identifier: Apache-2.0
"""The tests of an op of random numbers."""

load("//tests:defs.bzl", "THOROUGH", "jax_test")

def sampler_test(name, quick = []):
    """A test, a thorough one, and as on machines without AVX-512.

    Without FMA, XLA's steps cannot be taken: there is no test at level 1.

    Args:
      name: <op>_test. The source is `name`.py.
      quick: the classes that the quick test runs, if not all.
    """
    op = name.removesuffix("_test")
    for test, args, env in [
        (name, quick, {}),
        (op + "_thorough_test", [], THOROUGH),
        (op + "_v3_test", quick, {
            "XLA_FFI_OPS_CPU_LEVEL": "3",
            "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
        }),
    ]:
        jax_test(
            name = test,
            size = "medium" if test == name else "large",
            src = name + ".py",
            args = args,
            # jax's bits are those of optimized programs.
            env = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"} | env,
            ops = "//python/jax_ffi_ops/random",
            tags = [] if test == name else ["slow"],
            deps = [
                "//python/jax_ffi_ops/kit:testing",
                "@xla_ffi_ops_pypi//:flatbuffers",
                "@xla_ffi_ops_pypi//:scipy",
            ],
        )
