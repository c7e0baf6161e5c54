# SPDX-License-Identifier: Apache-2.0
"""Public macros: from C++ to a shared object of FFI handlers that JAX can load.

    load("@xla_ffi_ops//xla_ffi_ops:defs.bzl", "xla_ffi_extension", "xla_ffi_library")
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("//xla_ffi_ops:options.bzl", "all_defined", "optimized")
load("//xla_ffi_ops/private:cuda_library.bzl", _cuda_library = "cuda_library")
load("//xla_ffi_ops/private:version_script.bzl", "version_script")

cuda_library = _cuda_library

# What the headers of this repository need; a consumer's .bazelrc is its own.
_COPTS = ["-std=c++17"]

# -fopenmp-simd obeys `#pragma omp simd` and brings no OpenMP runtime. The other
# two let loops with sqrt and with selects be vectorized; none of them changes
# a result, as -ffast-math does.
_KERNEL_COPTS = _COPTS + optimized("-O3") + [
    "-fopenmp-simd",
    "-fno-math-errno",
    "-fno-trapping-math",
]

# What XLA_FFI_OPS_DEFINE_HANDLER and XLA_FFI_OPS_DEFINE_STATE define.
_SYMBOLS = ["_cpu"]
_STATE_SYMBOLS = ["_instantiate_cpu", "_state_type_id", "_state_type_info"]
_CUDA_SYMBOLS = ["_cuda"]
_CUDA_STATE_SYMBOLS = ["_instantiate_cuda"]

def _products(names, suffixes):
    return [name + suffix for name in names for suffix in suffixes]

def xla_ffi_kernel(name, copts = [], deps = [], **kwargs):
    """A CPU kernel: plain C++ on pointers and sizes, optimized for speed.

    It can include the kit's headers that know nothing of XLA (device.h, float16.h, rows.h).

    Args:
      name: makes the cc_library of this name.
      copts: more compiler options.
      deps: more dependencies.
      **kwargs: for cc_library: srcs, hdrs, visibility and so on.
    """
    cc_library(
        name = name,
        copts = _KERNEL_COPTS + copts,
        deps = deps + [Label("//xla_ffi_ops/kit:kernel")],
        **kwargs
    )

def _if_cuda(values):
    return select({Label("//:cuda_enabled"): values, "//conditions:default": []})

def xla_ffi_library(
        name,
        copts = [],
        cuda_deps = [],
        deps = [],
        local_defines = [],
        **kwargs):
    """FFI handlers, to be linked into an xla_ffi_extension.

    With `cuda_deps` and the flag //:cuda, XLA_FFI_OPS_DEFINE_HANDLER defines each handler for CUDA
    too.

    Args:
      name: makes the cc_library of this name. It is linked in whole, since nothing in C++ refers
        to a handler.
      copts: more compiler options.
      cuda_deps: cuda_library targets, of no use and not built without the flag.
      deps: more dependencies; the handler kit and XLA's FFI headers are there.
      local_defines: macros of these sources.
      **kwargs: for cc_library: srcs, hdrs, visibility and so on.
    """
    if cuda_deps:
        deps = deps + _if_cuda(cuda_deps)
        local_defines = local_defines + _if_cuda(["XLA_FFI_OPS_CUDA"])
    cc_library(
        name = name,
        alwayslink = True,
        copts = _COPTS + optimized("-O2") + copts,
        local_defines = local_defines,
        deps = deps + [Label("//xla_ffi_ops:ffi")],
        **kwargs
    )

def xla_ffi_extension(
        name,
        deps,
        handlers = [],
        stateful_handlers = [],
        cuda = False,
        linkopts = [],
        visibility = None,
        **kwargs):
    """A shared object that exports exactly the named handlers, for jax_ffi_ops.kit to load.

    Call it in the package of the Python file that loads the object and give `name` to that
    py_library as `data`: the object is then beside the Python file, wherever that is run.

    Makes `lib<name>.so` and the filegroup `name` of it. A handler that no dependency defines
    fails the build with its name, and so does whatever else is used and nowhere defined.

    Args:
      name: see above.
      deps: xla_ffi_library targets.
      handlers: FFI target names, as given to XLA_FFI_OPS_DEFINE_HANDLER.
      stateful_handlers: those that also have an XLA_FFI_OPS_DEFINE_STATE.
      cuda: whether it is an error, with the flag //:cuda, if one of the handlers is not for CUDA
          too. Their libraries have cuda_deps.
      linkopts: more linker options.
      visibility: of `name`.
      **kwargs: for all that is made: tags, testonly and so on.
    """
    symbols = (
        _products(handlers + stateful_handlers, _SYMBOLS) +
        _products(stateful_handlers, _STATE_SYMBOLS)
    )
    cuda_symbols = (
        _products(handlers + stateful_handlers, _CUDA_SYMBOLS) +
        _products(stateful_handlers, _CUDA_STATE_SYMBOLS)
    )
    if not cuda:  # As a pattern, a symbol may be missing.
        cuda_symbols = [symbol.removesuffix("a") + "[a]" for symbol in cuda_symbols]
    symbols = symbols + _if_cuda(cuda_symbols)
    script = name + ".lds"
    version_script(
        name = script,
        symbols = symbols,
        visibility = ["//visibility:private"],
        **kwargs
    )
    cc_binary(
        name = "lib" + name + ".so",
        additional_linker_inputs = [script],
        linkopts = [
            "-Wl,--version-script=$(location :%s)" % script,
            # Without it, a symbol that the script names and nobody defines is no error.
            "-Wl,--no-undefined-version",
        ] + all_defined() + linkopts,
        linkshared = True,
        linkstatic = True,
        visibility = ["//visibility:private"],
        deps = deps,
        **kwargs
    )
    native.filegroup(
        name = name,
        srcs = ["lib" + name + ".so"],
        visibility = visibility,
        **kwargs
    )
