# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_python//python:defs.bzl", "py_test")

_TAG = "gpu"

# With these variables, the suite tries all there is.
THOROUGH = {"JAX_FFI_OPS_THOROUGH_TESTS": "1"}

def jax_test(
        name,
        src = None,
        size = "medium",
        env = {},
        ops = "//python/jax_ffi_ops",
        tags = [],
        deps = [],
        **kwargs):
    """A py_test of jax_ffi_ops whose source is `src`, or `name`.py; for GPUs too.

    Args:
      name: see above.
      src: see above.
      size: of the test.
      env: its environment variables.
      ops: what it uses of jax_ffi_ops. One op is built sooner than all of them.
      tags: of the test.
      deps: what it imports besides.
      **kwargs: for py_test.
    """
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
            ops,
            "//tests:python_process",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
        **kwargs
    )

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
