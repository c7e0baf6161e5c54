# SPDX-License-Identifier: Apache-2.0
"""A rule that makes a site of Markdown files, by Sphinx."""

def _site_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add_all([folder], expand_directories = False)
    arguments.add_all(ctx.files.srcs)
    ctx.actions.run(
        arguments = [arguments],
        executable = ctx.executable._build,
        inputs = ctx.files.srcs,
        mnemonic = "Sphinx",
        outputs = [folder],
        progress_message = "Making the site %{label}",
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

site = rule(
    implementation = _site_impl,
    attrs = {
        "srcs": attr.label_list(
            allow_files = True,
            doc = "Pages and pictures. They keep their paths, so that links between them hold.",
            mandatory = True,
        ),
        "_build": attr.label(
            # In the configuration "exec", all handlers would be compiled once more.
            cfg = "target",
            default = "//docs:build",
            executable = True,
        ),
    },
    doc = "A folder of HTML, `name`. A warning of Sphinx fails the build.",
)
