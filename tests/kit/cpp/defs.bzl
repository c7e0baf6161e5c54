# SPDX-License-Identifier: Apache-2.0
"""What the tests here have in common."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("@rules_python//python:defs.bzl", "py_test")
load("//xla_ffi_ops:defs.bzl", "xla_ffi_extension", "xla_ffi_library")
load("//xla_ffi_ops:options.bzl", "WARNINGS")

def kit_cc_test(name, src = None, size = "small", copts = [], deps = [], levels = [], **kwargs):
    """A cc_test of the C++ kit on a fake runtime; its source is `src`, or `name`.cc.

    Args:
      name: see above.
      src: see above.
      size: of the test.
      copts: options of its compiler.
      deps: what it includes besides.
      levels: of x86-64, at which the same program runs once more.
      **kwargs: for cc_test.
    """
    cc_library(
        name = name + "_main",
        testonly = True,
        srcs = [src or name + ".cc"],
        copts = ["-std=c++17"] + WARNINGS + copts,
        deps = deps + [
            "//tests/kit/cpp:fake_xla",
            "//xla_ffi_ops:ffi",
        ],
        alwayslink = True,
    )
    tests = {name: {}} | {
        "{}_v{}_test".format(name.removesuffix("_test"), level): {"XLA_FFI_OPS_CPU_LEVEL": level}
        for level in levels
    }
    for test, env in tests.items():
        cc_test(
            name = test,
            size = size,
            env = env,
            deps = [name + "_main"],
            **kwargs
        )

def kit_py_test(name, deps = [], **kwargs):
    """A py_test of handlers that use the C++ kit, whose source is `name`.py."""
    py_test(
        name = name,
        size = "small",
        srcs = [name + ".py"],
        imports = ["."],  # For processes that a test starts.
        legacy_create_init = False,
        deps = deps + [
            "//tests/kit/cpp:handlers",
            "@xla_ffi_ops_pypi//:absl_py",
            "@xla_ffi_ops_pypi//:jax",
            "@xla_ffi_ops_pypi//:numpy",
        ],
        **kwargs
    )

def kit_ext(name, srcs, handlers = [], stateful_handlers = [], visibility = None, **kwargs):
    """The shared object lib`name`_ext.so of handlers for tests.

    Args:
      name: see above.
      srcs: their sources.
      handlers: their targets.
      stateful_handlers: those that have a state.
      visibility: of the shared object.
      **kwargs: for xla_ffi_library.
    """
    xla_ffi_library(
        name = name + "_ffi",
        srcs = srcs,
        copts = WARNINGS,
        **kwargs
    )
    xla_ffi_extension(
        name = name + "_ext",
        handlers = handlers,
        stateful_handlers = stateful_handlers,
        visibility = visibility,
        deps = [name + "_ffi"],
    )
