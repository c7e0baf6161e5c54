# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_python//python:defs.bzl", "py_test")
load("//tests/cuda:defs.bzl", "OPS")

_TAG = "gpu"

def jax_test(name, src = None, size = "medium", env = {}, tags = [], deps = [], **kwargs):
    """A py_test of jax_ffi_ops whose source is `src`, or `name`.py; for GPUs too."""
    py_test(
        name = name,
        size = size,
        srcs = [src or name + ".py"],
        main = src or name + ".py",
        # Most programs run once. `.ci/run full` optimizes them, too.
        env = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"} | env,
        legacy_create_init = False,
        tags = tags + [_TAG],
        visibility = ["//tests:__subpackages__"],
        deps = deps + [
            "//python/jax_ffi_ops",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
        **kwargs
    )

def op_test(name, deps = []):
    """The test of an op, `name`.py: all that its BUILD file has.

    Args:
      name: <op>_test.
      deps: what it imports but jax_ffi_ops and its kit.
    """
    op = name.removesuffix("_test")
    if op not in OPS:
        fail("add %s to OPS of //tests/cuda:defs.bzl: its kernels are tested there" % op)
    native.exports_files(
        [name + ".py"],
        visibility = ["//tests:__subpackages__"],
    )
    jax_test(
        name = name,
        deps = deps + ["//python/jax_ffi_ops/kit:testing"],
    )
    gpu_tests(name = "gpu_tests")

def gpu_tests(name, exclude = []):
    """What runs on a machine with a GPU, too: the last line of a BUILD file.

    It has the package's jax_tests so far, and the `:gpu_tests` of each package right below.

    Args:
      name: gpu_tests, for the package above.
      exclude: packages below that have none.
    """
    tests = [
        test
        for test, rule in native.existing_rules().items()
        if _TAG in rule["tags"]
    ]
    packages = native.subpackages(
        allow_empty = True,
        exclude = exclude,
        include = ["**"],
    )
    native.filegroup(
        name = name,
        testonly = True,
        srcs = tests + [
            "//{}/{}:gpu_tests".format(native.package_name(), package)
            for package in packages
        ],
        visibility = ["//tests:__subpackages__"],
    )
