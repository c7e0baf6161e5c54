# SPDX-License-Identifier: Apache-2.0
"""Compiles .cu files, the same way in every folder and on every machine."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("//xla_ffi_ops:flags.bzl", "CudaArchitecturesInfo")

_HEADERS = [".cuh", ".h", ".hh", ".hpp", ".inc", ".inl"]

# A target may not set these options: the rule sets them.
_REFUSED = {
    option: why
    for why, options in {
        "device code of one file cannot call that of another": [
            "-rdc",
            "--relocatable-device-code",
            "-dc",
            "--device-c",
        ],
        "the flag //:cuda_architectures is for that": [
            "-arch",
            "--gpu-architecture",
            "-gencode",
            "--generate-code",
        ],
    }.items()
    for option in options
}

def _for_host(option):
    """Returns the option of nvcc that gives `option` to the host compiler.

    nvcc splits it at commas, takes backslashes away, and has a shell read the rest.
    """
    option = option.replace("\\", "\\\\").replace(",", "\\,")
    if not all([char.isalnum() or char in "-+=_./:@%~" for char in option.elems()]):
        option = "'{}'".format(option.replace("'", "'\\\\''"))
    return "-Xcompiler=" + option

def _words(ctx, attribute):
    """Returns the words of an attribute, expanded as cc_library does."""
    files = ctx.attr.deps + ctx.attr.additional_compiler_inputs
    words = []
    for string in getattr(ctx.attr, attribute):
        string = ctx.expand_location(string, files)
        words += ctx.tokenize(ctx.expand_make_variables(attribute, string, {}))
    return words

def _standard(ctx):
    """Returns the option for the C++ version: that of --copt or --cxxopt, or C++17."""
    standard = "-std=c++17"
    for option in ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts:
        if option.startswith("-std="):
            standard = option.replace("gnu++", "c++")  # Which nvcc does not know.
    return standard

def _gencode(architectures):
    """Returns nvcc's options; PTX and code of one architecture share their front end."""
    codes = {}
    for name in architectures:
        codes.setdefault(name.replace("sm_", "compute_"), []).append(name)
    return [
        "-gencode=arch={},code=[{}]".format(virtual, ",".join(real))
        for virtual, real in codes.items()
    ]

def _user_options(ctx):
    """Returns the target's options for nvcc, which forwards those that it does not know."""
    options = []
    standard = _standard(ctx)
    words = _words(ctx, "copts")
    for i, copt in enumerate(words):
        option, _, _ = copt.partition("=")
        if option in _REFUSED:
            fail("{}: copts have {}: {}".format(ctx.label, copt, _REFUSED[option]))
        previous = words[i - 1] if i > 0 else ""
        if previous in ("-D", "-U"):
            options.append(_for_host(previous + copt))
        elif previous in ("-Xcompiler", "-Xptxas", "-Xcudafe"):
            options.append(copt)
        elif copt in ("-D", "-U"):
            continue  # The next word goes with it.
        elif copt in ("-Werror", "-Werror=all-warnings"):
            options.append("-Werror=all-warnings")  # Those of nvcc, ptxas and the host compiler.
        elif copt.startswith(("-D", "-U", "-Werror=", "-Wno-error")):
            options.append(_for_host(copt))
        elif copt.startswith(("-std=", "--std=")):
            standard = copt  # nvcc takes only one.
        else:
            options.append(copt)
    options += [_for_host(option) for option in _words(ctx, "host_copts")]
    options += ["-Xptxas=" + option for option in _words(ctx, "ptxasopts")]
    return [standard] + options

def _host_options(ctx, toolchain, features):
    """Returns the options of the C++ toolchain and of the command line, for the host compiler."""
    cpp = ctx.fragments.cpp
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = cc_common.create_compile_variables(
            cc_toolchain = toolchain,
            feature_configuration = features,
            use_pic = True,
            user_compile_flags = cpp.copts + cpp.cxxopts,
        ),
    )

    # nvcc knows its language by an option of its own.
    return [_for_host(o) for o in options if not o.startswith("-std=")]

def _dependency_options(ctx, context):
    defines = context.defines.to_list() + _words(ctx, "local_defines")
    words = ["-D" + define for define in defines]
    for option, folders in [
        ("-iquote", context.quote_includes),
        ("-I", context.includes),
        ("-isystem", context.system_includes),
    ]:
        for folder in folders.to_list():
            words += [option, folder]
    return [_for_host(word) for word in words]

def _compile(ctx, source, inputs, tools, options):
    """Returns the object of one source."""
    path = source.short_path
    if path.startswith("../"):  # of another repository
        _, _, path = path.split("/", 2)
    path = path.removeprefix(ctx.label.package + "/").removesuffix(".cu") + ".pic.o"
    object = ctx.actions.declare_file("_objs/{}/{}".format(ctx.label.name, path))
    arguments = ctx.actions.args()
    arguments.add_all([object, ctx.file._nvcc])
    arguments.add("-ccbin", tools.compiler)
    arguments.add("--forward-unknown-to-host-compiler")
    arguments.add_all(options)

    # Names of static and anonymous kernels have a hash of the source's absolute path, which in a
    # sandbox is never the same. This option comes after nvcc's own and wins.
    arguments.add("/".join(
        ["-Xcudafe=--orig_src_path_name=/", ctx.label.package, ctx.label.name, source.short_path],
    ))
    arguments.add_all(["-c", source, "-o", object])
    ctx.actions.run(
        executable = ctx.executable._compile,
        arguments = [arguments],
        inputs = depset([source], transitive = [inputs]),
        outputs = [object],
        tools = tools.files,
        mnemonic = "CudaCompile",
        progress_message = "Compiling " + source.short_path,
        # As for C++: a debugger finds sources from where it is started.
        env = tools.environment | {"PWD": "/proc/self/cwd"},
        use_default_shell_env = True,
    )
    return object

def _cuda_objects_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    tools = struct(
        compiler = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = "c++-compile",
        ),
        environment = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = "c++-compile",
            variables = cc_common.empty_variables(),
        ),
        files = depset(transitive = [toolchain.all_files, ctx.attr._compiler.files]),
    )
    context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    options = (
        _gencode(ctx.attr._architectures[CudaArchitecturesInfo].names) +
        _host_options(ctx, toolchain, features) +
        _dependency_options(ctx, context) +
        _user_options(ctx)
    )
    headers = [file for file in ctx.files.srcs if not file.path.endswith(".cu")]
    inputs = depset(headers + ctx.files.additional_compiler_inputs, transitive = [context.headers])
    objects = [
        _compile(ctx, source, inputs, tools, options)
        for source in ctx.files.srcs
        if source.path.endswith(".cu")
    ]
    if not objects:
        fail("{}: srcs have no .cu file; headers alone are for hdrs".format(ctx.label))
    return [DefaultInfo(files = depset(objects))]

cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "additional_compiler_inputs": attr.label_list(allow_files = True),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "host_copts": attr.string_list(),
        "local_defines": attr.string_list(),
        "ptxasopts": attr.string_list(),
        "srcs": attr.label_list(allow_files = [".cu"] + _HEADERS),
        "_architectures": attr.label(default = "//:cuda_architectures"),
        "_compile": attr.label(
            default = ":compile.sh",
            allow_single_file = True,
            cfg = "exec",
            executable = True,
        ),
        "_compiler": attr.label(default = "@xla_ffi_ops_cuda//:compiler", cfg = "exec"),
        "_nvcc": attr.label(
            default = "@xla_ffi_ops_cuda//:cuda/bin/nvcc",
            allow_single_file = True,
            cfg = "exec",
        ),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
    doc = "Compiles .cu files to position-independent objects. Use cuda_library instead.",
)
