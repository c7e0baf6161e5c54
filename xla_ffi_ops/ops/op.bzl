# SPDX-License-Identifier: Apache-2.0
"""The targets of one op of this repository, found by the names of its files."""

load("@rules_python//python:defs.bzl", "py_library")
load("//xla_ffi_ops:defs.bzl", "xla_ffi_extension", "xla_ffi_op_library")
load("//xla_ffi_ops:options.bzl", "WARNINGS")

def native_op(name, deps = [], copts = []):
    """The xla_ffi_op_library `name`_ffi in the op's folder, with the options that all ops here have.

    Args:
      name: of the op and of its folder below xla_ffi_ops/ops.
      deps: the formula of each op whose formulas this one uses.
      copts: more options of its C++.
    """
    xla_ffi_op_library(
        name = name + "_ffi",
        copts = WARNINGS + copts,
        cuda_copts = WARNINGS + ["-compress-mode=size"],
        visibility = ["//visibility:public"],
        deps = deps,
    )

    # A test compiles the CUDA kernels for the CPU.
    native.exports_files(
        native.glob([name + ".cu", name + "_ffi.cc"], allow_empty = True),
        visibility = [
            "//python/jax_ffi_ops/linalg:__pkg__",
            "//python/jax_ffi_ops/ops:__pkg__",
            "//python/jax_ffi_ops/random:__pkg__",
            "//tests/ops:__subpackages__",
        ],
    )

    # For tests that read them.
    native.filegroup(
        name = "sources",
        srcs = native.glob([
            "*.cc",
            "*.cu",
            "*.h",
        ]),
        visibility = [
            "//examples:__pkg__",
            "//python/jax_ffi_ops/linalg:__pkg__",
            "//python/jax_ffi_ops/ops:__pkg__",
            "//python/jax_ffi_ops/random:__pkg__",
        ],
    )

def python_ops(name, ops, cpu_only = [], forward_only = [], more = {}, uses = {}):
    """A py_library and a shared object for each op of python/jax_ffi_ops/ops.

    Args:
      name: of the py_library of all of them.
      ops: their names; the source is <op>.py, the handlers are those of //xla_ffi_ops/ops/<op>:<op>_ffi.
      cpu_only: those without CUDA handlers.
      forward_only: those without a handler for the backward pass.
      more: the other handlers of some of them.
      uses: the other ops that some of them are made of.
    """
    for op in ops:
        xla_ffi_extension(
            name = op + "_ext",
            cuda = op not in cpu_only,
            handlers = [
                "xla_ffi_ops_{}_{}".format(op, handler)
                for handler in ["fwd"] + ([] if op in forward_only else ["bwd"]) + more.get(op, [])
            ],
            deps = ["//xla_ffi_ops/ops/{0}:{0}_ffi".format(op)],
        )
        py_library(
            name = op,
            srcs = ["__init__.py", op + ".py"],
            data = [op + "_ext"],
            imports = ["../.."],
            deps = [
                "//python/jax_ffi_ops/kit",
                "//python/jax_ffi_ops/ops/common",
                "@xla_ffi_ops_pypi//:jax",
            ] + uses.get(op, []),
        )
    py_library(
        name = name,
        deps = ops,
    )

    # For tools that load nothing: see kit/load/library.py.
    py_library(
        name = "declarations",
        srcs = ["__init__.py"] + [op + ".py" for op in ops],
        imports = ["../.."],
        deps = [
            "//python/jax_ffi_ops/kit",
            "//python/jax_ffi_ops/ops/common",
        ],
    )
    _sources(ops)

def _sources(ops):
    visibility = ["//python/jax_ffi_ops:__pkg__"]
    native.filegroup(
        name = "handlers",
        srcs = ["//xla_ffi_ops/ops/{0}:{0}_ffi.cc".format(op) for op in ops],
        visibility = visibility,
    )
    native.filegroup(
        name = "sources",
        srcs = ["//xla_ffi_ops/ops/{}:sources".format(op) for op in ops],
        visibility = visibility,
    )

def python_family(name, ops):
    """A py_library of the package's modules, and one shared object for all of its ops.

    The base of an object takes 60 kB of the wheel.

    Args:
      name: of the py_library.
      ops: from each op, a folder of //xla_ffi_ops/ops, to its handlers, without their prefix.
    """
    xla_ffi_extension(
        name = name + "_ext",
        cuda = False,
        handlers = [
            "xla_ffi_ops_" + handler
            for handlers in ops.values()
            for handler in handlers
        ],
        deps = ["//xla_ffi_ops/ops/{0}:{0}_ffi".format(op) for op in ops],
    )
    py_library(
        name = name,
        data = [name + "_ext"],
        deps = ["declarations"],
    )

    # For tools that load nothing: see kit/load/library.py.
    py_library(
        name = "declarations",
        srcs = native.glob(["*.py"]),
        imports = ["../.."],
        deps = [
            "//python/jax_ffi_ops:names",
            "//python/jax_ffi_ops/composed",
            "//python/jax_ffi_ops/kit",
            "//python/jax_ffi_ops/ops/common",
            "@xla_ffi_ops_pypi//:jax",
        ],
    )
    _sources(ops)
