# SPDX-License-Identifier: Apache-2.0
"""The tests of one op, found by the names of its files."""

load("//tests:defs.bzl", "THOROUGH", "gpu_tests", "jax_test")
load("//tests/cuda:defs.bzl", "cuda_test")
load("//tests/cuda/emulator:defs.bzl", "emulated_tests")

# What an op of rows has to show beside rms_norm, whose quick test runs all of
# the suite: handlers and rules of its own.
_ROW_TESTS = [
    "handler_broadcasts",
    "handler_of_any_threads",
    "handler_of_every_dtype",
    "handler_of_many_ranges",
    "handler_of_many_rows",
    "handler_of_nothing",
    "handler_of_operands_that_begin_anywhere",
    "handler_of_other_attributes",
    "handler_of_special_values",
    "handler_of_wide_rows",
    "handler_refuses_shapes",
    "hessians",
    "in_place_has_the_same_bits",
    "jit",
    "jvp",
    "partitioned_core_explicitly",
    "vmap_of_gradient",
]

def row_tests(suite, more):
    """The `quick` tests of an op of rows.

    Args:
      suite: the class of its suite.
      more: names of tests that show what this op alone has, without "test_".
    """
    return ["{}.test_{}".format(suite, what) for what in _ROW_TESTS + more]

# What an op that chooses elements has to show beside cumsum, whose quick test runs
# all of the suite.
_CHOICE_TESTS = [
    "every_dtype",
    "handler_broadcasts",
    "handler_of_any_threads",
    "handler_of_every_dtype",
    "handler_of_many_ranges",
    "handler_of_nothing",
    "handler_of_operands_that_begin_anywhere",
    "handler_of_other_attributes",
    "handler_of_special_values",
    "handler_refuses_shapes",
    "jit",
    "partitioned_automatically",
    "vmap_over_each_axis",
]

def choice_tests(suite, more = []):
    """The `quick` tests of an op that chooses elements; arguments as of row_tests."""
    return ["{}.test_{}".format(suite, what) for what in _CHOICE_TESTS + more]

# What direct calls of any handler show of its loops and cores.
_CALL_TESTS = [
    "handler_broadcasts",
    "handler_of_empty_cores",
    "handler_of_nothing",
    "handler_of_operands_that_begin_anywhere",
]

def call_tests(suite, more):
    """Tests of direct calls, for `quick` or `emulated`; arguments as of row_tests."""
    return ["{}.test_{}".format(suite, what) for what in _CALL_TESTS + more]

def op_test(name, cuda = True, handlers = ["fwd", "bwd"], emulated = None, quick = [], deps = []):
    """The tests of an op, in its folder below tests/ops.

    Args:
      name: <op>_test. The source is `name`.py; <op>_kernels_test.cc may be there, too.
      cuda: whether the op has CUDA handlers.
      handlers: which handlers it has.
      emulated: the classes of its own test that the emulated_test runs; by default, the suite of
          ops on rows.
      quick: the classes that the quick test runs, if not all. It is for ops of a family, such as
          sorts, or scans: the suite tries the declaration that they share with one of them, and
          these classes try the op's own values and derivatives. The thorough test runs all.
      deps: what `name`.py imports but jax_ffi_ops and its kit.
    """
    op = name.removesuffix("_test")
    library = "//python/jax_ffi_ops/ops:" + op
    native.exports_files(
        [
            "BUILD.bazel",
            name + ".py",
        ],
        visibility = ["//tests/ops:__pkg__"],
    )
    deps = deps + ["//python/jax_ffi_ops/kit:testing"]
    jax_test(
        name = name,
        args = quick,
        ops = library,
        deps = deps,
    )

    # Before the emulated_test: on a GPU, the op's own test runs the CUDA handlers.
    gpu_tests(name = "gpu_tests")

    # As on machines without AVX-512, and without AVX2.
    for level in ["1", "3"]:
        jax_test(
            name = "v{}_test".format(level),
            src = name + ".py",
            env = {"XLA_FFI_OPS_CPU_LEVEL": level},
            ops = library,
            tags = ["slow"],
            deps = deps,
        )
    jax_test(
        name = "thorough_test",
        size = "large",
        src = name + ".py",
        env = THOROUGH,
        ops = library,
        tags = ["slow"],
        deps = deps,
    )
    if not cuda:
        return
    handlers = ["xla_ffi_ops_{}_{}".format(op, handler) for handler in handlers]
    emulated_tests(
        name = op,
        own = emulated,
        handlers = handlers,
        deps = deps,
    )

    libraries = {"LIBRARY": library + "_ext"}
    cuda_test(
        name = "library_test",
        src = "//tests/cuda:library_test.py",
        env = {"HANDLERS": " ".join(handlers)},
        libraries = libraries,
        deps = ["//python/jax_ffi_ops/doctor"],
    )
    cuda_test(
        name = "sass_test",
        src = "//tests/cuda:row_kernels_sass_test.py",
        disassembles = True,
        libraries = libraries,
        deps = ["//tests/cuda:sass"],
    )
