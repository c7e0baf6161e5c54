# SPDX-License-Identifier: Apache-2.0
"""cuda_library: for .cu files, as cc_library is for .cc files."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load(":cuda_objects.bzl", "cuda_objects")

# Attributes of cc_library that are about headers. The others are about linking.
_OF_HEADERS = [
    "defines",
    "include_prefix",
    "includes",
    "strip_include_prefix",
    "textual_hdrs",
]

def cuda_library(
        name,
        srcs = [],
        hdrs = [],
        deps = [],
        implementation_deps = [],
        copts = [],
        host_copts = [],
        ptxasopts = [],
        local_defines = [],
        tags = [],
        target_compatible_with = [],
        visibility = None,
        **kwargs):
    """CUDA C++, for the architectures of the flag //:cuda_architectures.

    Its attributes have the same names as in cc_library and in rules_cuda's cuda_library.

    Without the flag //:cuda it is an incompatible target: wildcards skip it, and nothing of CUDA is
    fetched. It is always linked statically, and so is the runtime library. A kernel can include the
    headers of CUDA's runtime, compiler and CCCL (cub, cuda/std, thrust), and the headers of
    xla_ffi_ops that do not include XLA's. Device code in one file cannot call device code in
    another (-rdc).

    The compiler finds only headers of dependencies. Without a sandbox (--spawn_strategy=local) it
    finds others, too, but Bazel does not compile again when they change. --per_file_copt is for .cc
    files alone.

    Args:
      name: makes the cc_library of this name.
      srcs: .cu files, and headers that only they include.
      hdrs: headers for its dependents.
      deps: C++ or CUDA libraries; their headers and defines reach the .cu files.
      implementation_deps: the same, but their headers do not reach dependents.
      copts: options of nvcc (-use_fast_math, -maxrregcount=64, -Xptxas=-v). Options that nvcc
          does not know go to the host compiler (-Wextra, -fno-exceptions). C++17 is the default.
          -Werror makes all warnings errors, nvcc's own too. -diag-suppress=177 turns off that
          warning for device code, -w turns off all warnings.
          --action_env=NVCC_APPEND_FLAGS=-lineinfo sets an option for all cuda_libraries. With line
          numbers (-lineinfo, -G), an object contains the times of its sources. So it differs from
          build to build.
      host_copts: options of the host compiler.
      ptxasopts: options of ptxas.
      local_defines: macros for these srcs alone.
      tags: for all targets.
      target_compatible_with: more constraints.
      visibility: of `name`.
      **kwargs: as in cc_library: defines, includes, linkopts, alwayslink, testonly and so on.
    """
    common = dict(
        tags = tags,
        target_compatible_with = target_compatible_with + select({
            Label("//:cuda_enabled"): [],
            "//conditions:default": [Label("//:needs_flag_cuda")],
        }),
    )
    for key in ["testonly", "features", "exec_compatible_with", "deprecation"]:
        if key in kwargs:
            common[key] = kwargs.pop(key)
    of_headers = {key: kwargs.pop(key) for key in _OF_HEADERS if key in kwargs}

    headers = name + ".hdrs"
    cc_library(
        name = headers,
        hdrs = hdrs,
        visibility = ["//visibility:private"],
        deps = deps + [
            Label("//xla_ffi_ops:kernel"),
            Label("@xla_ffi_ops_cuda//:cudart"),
        ],
        **(of_headers | common)
    )
    objects = name + ".objects"
    of_compiler = {
        key: kwargs[key]
        for key in ["additional_compiler_inputs", "toolchains"]
        if key in kwargs
    }
    if srcs:
        cuda_objects(
            name = objects,
            srcs = srcs,
            copts = copts,
            host_copts = host_copts,
            ptxasopts = ptxasopts,
            local_defines = local_defines,
            visibility = ["//visibility:private"],
            deps = [headers] + implementation_deps,
            **(of_compiler | common)
        )
    cc_library(
        name = name,
        srcs = [objects] if srcs else [],
        implementation_deps = implementation_deps,
        visibility = visibility,
        deps = [headers],
        # The runtime library hides its symbols: nothing outside of the same object sees them.
        **(kwargs | common | {"linkstatic": True})
    )
