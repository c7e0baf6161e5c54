# SPDX-License-Identifier: Apache-2.0
"""Calls of macros with all that they take, and targets in another compilation mode."""

def given(name, macro, deps = [], **kwargs):
    """Calls a macro that makes C++ libraries with all that a caller may give to it.

    Args:
      name: of the target.
      macro: of defs.bzl.
      deps: more dependencies.
      **kwargs: for the macro.
    """
    macro(
        name = name,
        copts = ["-DFROM_COPTS"],
        defines = ["FROM_DEFINES"],
        linkopts = ["-Wl,-rpath,/of/" + name],
        local_defines = ["FROM_LOCAL_DEFINES"],
        deps = deps + [":dep"],
        **kwargs
    )

def _to_mode(_settings, attr):
    return {"//command_line_option:compilation_mode": attr.mode}

_mode = transition(
    implementation = _to_mode,
    inputs = [],
    outputs = ["//command_line_option:compilation_mode"],
)

def _in_mode(ctx):
    links = []
    for file in ctx.files.target:
        link = ctx.actions.declare_file("{}/{}".format(ctx.attr.mode, file.basename))
        ctx.actions.symlink(output = link, target_file = file)
        links.append(link)
    return [DefaultInfo(files = depset(links), runfiles = ctx.runfiles(links))]

in_mode = rule(
    implementation = _in_mode,
    doc = "The files of a target that is built with `-c <mode>`, in a folder of that name.",
    attrs = {
        "mode": attr.string(mandatory = True),
        "target": attr.label(cfg = _mode, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
