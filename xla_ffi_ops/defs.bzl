# SPDX-License-Identifier: Apache-2.0
"""Public macros: from C++ to a shared object of FFI handlers that JAX can load.

    load("@xla_ffi_ops//xla_ffi_ops:defs.bzl", "xla_ffi_op")
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("@rules_python//python:defs.bzl", "py_binary", "py_library")
load("//xla_ffi_ops:options.bzl", "COPTS", "KERNEL_COPTS", "all_defined", "optimized")
load("//xla_ffi_ops/private:aliases.bzl", "aliases")
load("//xla_ffi_ops/private:cuda_library.bzl", _cuda_library = "cuda_library")
load("//xla_ffi_ops/private:symbols.bzl", "exported_symbols")
load("//xla_ffi_ops/private:version_script.bzl", "version_script")

cuda_library = _cuda_library

def xla_ffi_kernel(name, copts = [], deps = [], **kwargs):
    """A CPU kernel: plain C++ on pointers and sizes, optimized for speed.

    It cannot include headers of XLA, nor headers that include these. It can include all of
    xla_ffi_ops/vec, and the headers of xla_ffi_ops/rows that run formulas.

    Args:
      name: makes the cc_library of this name.
      copts: more compiler options.
      deps: more dependencies.
      **kwargs: for cc_library: srcs, hdrs, visibility and so on.
    """
    cc_library(
        name = name,
        copts = KERNEL_COPTS + copts,
        deps = deps + [Label("//xla_ffi_ops:kernel")],
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
      name: makes the cc_library of this name. It is linked as a whole (alwayslink), since no C++
          refers to a handler.
      copts: more compiler options.
      cuda_deps: cuda_library targets. They are omitted without the flag.
      deps: more dependencies. The kit's and XLA's headers need not be named.
      local_defines: macros of the preprocessor for these sources alone.
      **kwargs: for cc_library: srcs, hdrs, visibility and so on.
    """
    if cuda_deps:
        deps = deps + _if_cuda(cuda_deps)
        local_defines = local_defines + _if_cuda(["XLA_FFI_OPS_CUDA"])
    cc_library(
        name = name,
        alwayslink = True,
        # A handler may have loops: see the scaffold's.
        copts = COPTS + optimized("-O2") + ["-fopenmp-simd"] + copts,
        local_defines = local_defines,
        deps = deps + [Label("//xla_ffi_ops:ffi")],
        **kwargs
    )

def _exporting(name, exported, deps, cuda = False, others = [], **private):
    """Returns deps, inputs and linkopts of an object that exports `exported` and `others`."""
    cpu, gpu = exported["cpu"], exported["cuda"]
    for platform, symbols in exported.items():
        if symbols.aliases:
            source = "{}.{}_aliases".format(name, platform)
            aliases(name = source, aliases = symbols.aliases, **private)
            library = source + ".lib"
            cc_library(name = library, srcs = [source], alwayslink = True, **private)

            # It comes first: a linker takes from an archive what those before it need.
            deps = ([library] if platform == "cpu" else _if_cuda([library])) + deps
    cuda_symbols = gpu.own
    if not cuda:  # As a pattern, a symbol may be missing.
        cuda_symbols = [symbol.removesuffix("a") + "[a]" for symbol in cuda_symbols]
    script = name + ".lds"
    version_script(
        name = script,
        symbols = others + cpu.own + cpu.named + cpu.aliases.keys() +
                  _if_cuda(cuda_symbols + gpu.named + gpu.aliases.keys()),
        **private
    )
    return struct(
        deps = deps,
        inputs = [script],
        linkopts = [
            "-Wl,--version-script=$(location :%s)" % script,
            # Without it, a symbol that the script names and nobody defines is no error.
            "-Wl,--no-undefined-version",
        ],
    )

def xla_ffi_extension(
        name,
        deps,
        handlers = [],
        stateful_handlers = [],
        symbols = {},
        cuda = False,
        linkopts = [],
        target_compatible_with = [],
        visibility = None,
        **kwargs):
    """A shared object that exports exactly the named handlers, for jax_ffi_ops.kit to load.

    Call it in the package of the Python file that loads the object, and add `name` to the `data` of
    that py_library: the object is then always beside the Python file.

    The build fails if no dependency defines a handler that is named, or a symbol that is used. The
    error names it.

    Args:
      name: makes `lib<name>.so` and a filegroup of this name.
      deps: xla_ffi_library targets, or any cc_library or cuda_library with handlers in it.
      handlers: names of FFI targets, as in XLA_FFI_OPS_DEFINE_HANDLER.
      stateful_handlers: targets that also have an XLA_FFI_OPS_DEFINE_STATE.
      symbols: handlers without the kit's macro, such as XLA's own macros make. It maps FFI
          targets to symbols, `{"my_op_fwd": {"cpu": "MyOp", "cuda": "MyOpCuda"}}`. One platform is
          enough. In place of a symbol there may be a dictionary of the handler's stages
          `instantiate`, `prepare`, `initialize` and `execute`, and of the functions `type_id` and
          `type_info` of its state. The symbols are exported, and so are the names by which
          kit.Library finds them. If all are for CUDA, the target is incompatible without the flag
          //:cuda.
      cuda: whether all of `handlers` and `stateful_handlers` must also be for CUDA. If so, a
          missing one is an error with the flag //:cuda. Their libraries have cuda_deps.
      linkopts: more linker options.
      target_compatible_with: more constraints.
      visibility: of `name`.
      **kwargs: for all targets: tags, testonly and so on.
    """
    exported = exported_symbols(name, handlers, stateful_handlers, symbols)
    cpu = exported["cpu"]
    if not handlers and not stateful_handlers and not symbols:
        fail("{}: handlers, stateful_handlers or symbols must name one".format(name))
    if not cpu.own and not cpu.named:
        target_compatible_with = target_compatible_with + select({
            Label("//:cuda_enabled"): [],
            "//conditions:default": [Label("//:needs_flag_cuda")],
        })
    common = kwargs | dict(target_compatible_with = target_compatible_with)
    private = common | dict(visibility = ["//visibility:private"])
    linked = _exporting(name, exported, deps, cuda, **private)
    cc_binary(
        name = "lib" + name + ".so",
        additional_linker_inputs = linked.inputs,
        linkopts = linked.linkopts + all_defined() + linkopts,
        linkshared = True,
        linkstatic = True,
        deps = linked.deps,
        **private
    )
    native.filegroup(
        name = name,
        srcs = ["lib" + name + ".so"],
        visibility = visibility,
        **common
    )

def xla_ffi_op_library(name, deps = [], copts = [], cuda_copts = [], **kwargs):
    """The handlers and kernels of an op, made of the files that have its name.

    xla_ffi_op calls it. If the Python of the op is in another package, call it yourself, and name
    it in the `deps` of an xla_ffi_extension in that package.

    Makes the xla_ffi_library `name`, of `name`.cc, and three more libraries of the other files that
    xla_ffi_op knows: `<op>.formula`, `<op>.kernel` and `<op>.cuda`.

    Args:
      name: <op>_ffi.
      deps: C++ libraries that the sources include, such as the formula of another op.
      copts: more compiler options for C++.
      cuda_copts: more compiler options for CUDA.
      **kwargs: for all targets: visibility, tags, testonly and so on.
    """
    op = name.removesuffix("_ffi")
    if op == name:
        fail("{}: the name must be that of a file <op>_ffi.cc".format(name))
    cc_library(
        name = op + ".formula",
        hdrs = native.glob([op + ".h"], allow_empty = True),
        deps = deps + [Label("//xla_ffi_ops:kernel")],
        **kwargs
    )
    xla_ffi_kernel(
        name = op + ".kernel",
        srcs = native.glob([op + ".cc"], allow_empty = True),
        copts = copts,
        deps = [op + ".formula"],
        **kwargs
    )
    cuda = native.glob([op + ".cu"], allow_empty = True)
    if cuda:
        cuda_library(
            name = op + ".cuda",
            srcs = cuda,
            copts = cuda_copts,
            deps = [op + ".kernel", Label("//xla_ffi_ops:cuda_kernel")],
            **kwargs
        )
    xla_ffi_library(
        name = name,
        srcs = [name + ".cc"],
        copts = copts,
        cuda_deps = [op + ".cuda"] if cuda else [],
        deps = [op + ".kernel"],
        **kwargs
    )

def xla_ffi_op(
        name,
        handlers = [],
        stateful_handlers = [],
        deps = [],
        py_srcs = [],
        py_deps = [],
        imports = [],
        visibility = None,
        **kwargs):
    """An op, made of the files that have its name.

    `name`.py is the declaration, `name`_ffi.cc has the handlers. Three more files are optional:
    `name`.h, the formula; `name`.cc, the CPU kernel, which cannot include XLA's headers; `name`.cu,
    the CUDA kernel. With a CUDA kernel, all handlers must also be for CUDA.

    Makes the py_library `name` and its shared object, `lib<name>_ext.so`.

    Args:
      name: of the op, of its files and of the py_library.
      handlers: as in xla_ffi_extension.
      stateful_handlers: as in xla_ffi_extension.
      deps: C++ libraries that the sources include.
      py_srcs: more Python files.
      py_deps: their dependencies besides the kit, jax and numpy.
      imports: as in py_library. With ["."], Python imports `name` wherever the package is.
      visibility: of `name`.
      **kwargs: for all targets: tags, testonly and so on.
    """
    private = kwargs | dict(visibility = ["//visibility:private"])
    xla_ffi_op_library(name = name + "_ffi", deps = deps, **private)
    xla_ffi_extension(
        name = name + "_ext",
        cuda = bool(native.glob([name + ".cu"], allow_empty = True)),
        handlers = handlers,
        stateful_handlers = stateful_handlers,
        deps = [name + "_ffi"],
        **private
    )
    py_library(
        name = name,
        srcs = [name + ".py"] + py_srcs,
        data = [name + "_ext"],
        imports = imports,
        visibility = visibility,
        deps = py_deps + [
            Label("//python/jax_ffi_ops/kit"),
            Label("@xla_ffi_ops_pypi//:jax"),
            Label("@xla_ffi_ops_pypi//:numpy"),
        ],
        **kwargs
    )

_BINDING_COPTS = {
    "c_api": [],
    # Its own types are hidden, and g++ warns of a type with such a member that is not. Here the
    # linker hides them all.
    "nanobind": ["-Wno-attributes"],
    # g++ 12 with a sanitizer warns of pybind11's own vectors; clang does not know the warning.
    "pybind11": ["-Wno-attributes", "-Wno-unknown-warning-option", "-Wno-maybe-uninitialized"],
}

def xla_ffi_python_module(
        name,
        srcs,
        binding,
        symbols = {},
        copts = [],
        deps = [],
        linkopts = [],
        visibility = None,
        **kwargs):
    """A Python extension with handlers, for code that already is one; the kit itself needs none.

    It is built for the Python that runs the tests. If that has no headers (Debian: python3-dev), it
    is incompatible. Add `name` to the `data` of the py_library that imports it, with
    `imports = ["."]`.

    It exports `PyInit_<name>`, which Python calls, and hides all other symbols. To load
    handlers with kit.Library, too, name them in `symbols`; they may be in the file of the module.

    NDEBUG is defined, except with `-c dbg`, as in nanobind's release builds. Without NDEBUG, nanobind
    ends a process that uses a Python object without the GIL.

    Args:
      name: the name of the module, as in NB_MODULE or PYBIND11_MODULE. Makes `<name>.so`, which
          Python imports, and a filegroup of this name.
      srcs: C++ files; one has that macro.
      binding: "nanobind", "pybind11", or "c_api" for a PyInit_ that you have written yourself.
      symbols: as in xla_ffi_extension.
      copts: more compiler options.
      deps: libraries with handlers and their headers.
      linkopts: more linker options.
      visibility: of `name`.
      **kwargs: for all targets: tags, testonly and so on.
    """
    if binding not in _BINDING_COPTS:
        fail("{}: binding must be one of {}, got {}".format(
            name,
            ", ".join(_BINDING_COPTS),
            repr(binding),
        ))
    private = kwargs | dict(visibility = ["//visibility:private"])
    linked = _exporting(
        name,
        exported_symbols(name, [], [], symbols),
        deps + [Label("//third_party/bindings:" + binding)],
        others = ["PyInit_" + name],
        **private
    )
    cc_binary(
        name = name + ".so",
        srcs = srcs,
        additional_linker_inputs = linked.inputs,
        copts = COPTS + optimized("-O2", "-DNDEBUG") + _BINDING_COPTS[binding] + copts,
        linkopts = linked.linkopts + linkopts,
        linkshared = True,
        deps = linked.deps,
        **private
    )
    native.filegroup(
        name = name,
        srcs = [name + ".so"],
        visibility = visibility,
        **kwargs
    )

def xla_ffi_jax_op(
        name,
        cores,
        src = None,
        prefix = "",
        shared = [],
        least_rows = [],
        backward = True,
        deps = [],
        py_srcs = [],
        py_deps = [],
        imports = [],
        visibility = None,
        **kwargs):
    """An op whose handlers the build writes from the reference in its declaration.

    `name`.py has the kit.op of this name, which loads `lib<name>_ext.so`. A build action traces its
    reference for each of the cores and for each choice of dtypes, and writes C++: `name`_ffi.cc.
    Calls with other cores run the reference. The build fails if it cannot compile a reference.
    docs/loops.md says more.

    Makes the py_library `name` and its shared object, `lib<name>_ext.so`.

    Args:
      name: of the op, of its Python file and of the py_library.
      cores: the sizes of core dimensions, `[{"n": 4, "m": 2}]`. A dimension that a core omits is
          open: the handler takes any size of it from 1 on. A dimension can be open if it counts
          steps, or if its arrays may stay in memory. The values of attributes stand there, too,
          all of them.
      src: the Python file, if it is not `name`.py.
      prefix: the prefix of the kit.Library.
      shared: operands that all rows of a call usually share. They are read once for all rows. If a
          call does not share one, its handler computes one row at a time.
      least_rows: for each core, the smallest numbers of rows for which the forward and the backward
          handler run: `[(1, 1), (8, 1)]`. Calls with fewer rows run the reference. None means
          never. By default, handlers always run.
      backward: whether there is a handler for the backward pass. It computes the forward pass again.
      deps: C++ libraries; usually none.
      py_srcs: more Python files.
      py_deps: their dependencies besides the kit, jax and numpy.
      imports: as in py_library.
      visibility: of `name`.
      **kwargs: for all targets: tags, testonly and so on.
    """
    if least_rows and len(least_rows) != len(cores):
        fail("{}: least_rows has {} pairs for {} cores.".format(name, len(least_rows), len(cores)))
    private = kwargs | dict(visibility = ["//visibility:private"])
    handlers = [prefix + name + "_fwd"] + ([prefix + name + "_bwd"] if backward else [])
    source = src or name + ".py"
    declared = dict(
        srcs = [source] + py_srcs,
        imports = imports,
        deps = py_deps + [
            Label("//python/jax_ffi_ops/kit"),
            Label("@xla_ffi_ops_pypi//:jax"),
            Label("@xla_ffi_ops_pypi//:numpy"),
        ],
    )
    py_library(
        name = name + ".declaration",
        **(private | declared)
    )
    program = Label("//python/jax_ffi_ops/loops:main.py")
    py_binary(
        name = name + ".compile",
        srcs = [program],
        main = program,
        legacy_create_init = False,
        deps = [
            name + ".declaration",
            Label("//python/jax_ffi_ops/loops"),
        ],
        **private
    )
    request = {
        "cores": cores,
        "handlers": handlers,
        "least_rows": least_rows,
        "op": prefix + name,
        "shared": shared,
    }
    native.genrule(
        name = name + ".source",
        srcs = [source],
        outs = [name + "_ffi.cc", "lib{}_ext.cores.json".format(name)],
        cmd = "JAX_PLATFORMS=cpu $(location :{}.compile) $(location {}) $(OUTS) '{}'".format(
            name,
            source,
            # Neither Bazel nor the shell reads these two characters then.
            json.encode(request).replace("$", "\\u0024").replace("'", "\\u0027"),
        ),
        message = "Writing C++ of",
        tools = [name + ".compile"],
        **private
    )
    xla_ffi_library(
        name = name + "_ffi",
        srcs = [name + "_ffi.cc"],
        # Integers of jax wrap. Vectors are passed to no function that is not inlined.
        # What a kernel does not use of a row is read in its text alone.
        # What is fused is written as MulAdd.
        copts = KERNEL_COPTS + ["-ffp-contract=off", "-fwrapv", "-Wno-psabi", "-Wno-tautological-compare", "-Wno-unused"],
        deps = deps + [Label("//xla_ffi_ops:loops")],
        **private
    )
    xla_ffi_extension(
        name = name + "_ext",
        handlers = handlers,
        deps = [name + "_ffi"],
        **private
    )
    py_library(
        name = name,
        data = [name + "_ext", "lib{}_ext.cores.json".format(name)],
        visibility = visibility,
        **(kwargs | declared)
    )
