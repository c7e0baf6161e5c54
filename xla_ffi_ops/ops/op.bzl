# SPDX-License-Identifier: Apache-2.0
"""The targets of one op of this repository, found by the names of its files."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_library")
load("//xla_ffi_ops:defs.bzl", "cuda_library", "xla_ffi_extension", "xla_ffi_kernel", "xla_ffi_library")
load("//xla_ffi_ops:options.bzl", "WARNINGS")

def native_op(name, deps = []):
    """Kernels and handlers of one op, in its folder below xla_ffi_ops/ops.

    Args:
      name: of the op, of its folder, and of the handler library. The sources are `name`_ffi.cc, the
        handlers, and those of these that are there: `name`.h, the formula; `name`.cc, the CPU
        kernel; `name`.cu, the CUDA kernel.
      deps: the `formula` of each op whose formulas this one uses.
    """
    cc_library(
        name = "formula",
        hdrs = native.glob([name + ".h"], allow_empty = True),
        visibility = ["//xla_ffi_ops/ops:__subpackages__"],
        deps = deps + ["//xla_ffi_ops/kit:kernel"],
    )
    xla_ffi_kernel(
        name = "kernel",
        srcs = native.glob([name + ".cc"], allow_empty = True),
        copts = WARNINGS,
        deps = [":formula"],
    )
    cuda = native.glob(["*.cu", "*.cuh"], allow_empty = True)
    if cuda:
        cuda_library(
            name = "cuda_kernel",
            srcs = cuda,
            copts = WARNINGS + ["-compress-mode=size"],
            deps = [":kernel", "//xla_ffi_ops/cuda:kernel"],
        )
    xla_ffi_library(
        name = name,
        srcs = [name + "_ffi.cc"],
        copts = WARNINGS,
        cuda_deps = [":cuda_kernel"] if cuda else [],
        visibility = ["//visibility:public"],
        deps = [":kernel"],
    )

    # For a test that compiles the CUDA kernels for the CPU.
    cc_library(
        name = "sources",
        testonly = True,
        textual_hdrs = cuda + [name + "_ffi.cc"],
        visibility = ["//tests/ops:__subpackages__"],
        deps = [":kernel"],
    )

def python_ops(name, ops, cpu_only = [], forward_only = []):
    """A py_library and a shared object for each op of python/jax_ffi_ops/ops.

    Args:
      name: of the py_library of all of them.
      ops: their names; the source is <op>.py, the handlers are those of //xla_ffi_ops/ops/<op>.
      cpu_only: those without CUDA handlers.
      forward_only: those without a handler for the backward pass.
    """
    for op in ops:
        xla_ffi_extension(
            name = op + "_ext",
            cuda = op not in cpu_only,
            handlers = [
                "xla_ffi_ops_{}_{}".format(op, handler)
                for handler in ["fwd"] + ([] if op in forward_only else ["bwd"])
            ],
            deps = ["//xla_ffi_ops/ops/" + op],
        )
        py_library(
            name = op,
            srcs = ["__init__.py", op + ".py"],
            data = [op + "_ext"],
            imports = ["../.."],
            deps = [
                "//python/jax_ffi_ops/kit",
                "@xla_ffi_ops_pypi//:jax",
            ],
        )
    py_library(
        name = name,
        deps = ops,
    )
