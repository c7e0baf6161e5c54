# SPDX-License-Identifier: Apache-2.0
"""Headers as files beside Python, which passes the folder to a compiler."""

load("@rules_cc//cc:defs.bzl", "CcInfo")

def _shipped_headers_impl(ctx):
    files = []
    for dep in ctx.attr.deps:
        for header in dep[CcInfo].compilation_context.headers.to_list():
            label = header.owner
            if label.workspace_name == ctx.label.workspace_name:
                path = "/".join([ctx.attr.folder, label.package, label.name])
                file = ctx.actions.declare_file(path)
                ctx.actions.symlink(output = file, target_file = header)
                files.append(file)
    return [DefaultInfo(files = depset(files), runfiles = ctx.runfiles(files))]

shipped_headers = rule(
    implementation = _shipped_headers_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo], doc = "Their headers, and what these include."),
        "folder": attr.string(mandatory = True, doc = "Below that of the package."),
    },
    doc = "Links this repository's headers of `deps` into `folder`, by the paths of their includes.",
)
