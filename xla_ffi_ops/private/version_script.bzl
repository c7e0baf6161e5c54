# SPDX-License-Identifier: Apache-2.0
"""A linker version script that exports the given symbols and hides all others."""

def _version_script_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name)
    exported = "".join(["    %s;\n" % symbol for symbol in ctx.attr.symbols])
    ctx.actions.write(script, "{\n  global:\n%s  local:\n    *;\n};\n" % exported)
    return [DefaultInfo(files = depset([script]))]

version_script = rule(
    implementation = _version_script_impl,
    attrs = {"symbols": attr.string_list(mandatory = True, allow_empty = False)},
    doc = "Writes the file `name`: other symbols stay private, so that two shared objects with " +
          "different copies of inline code never mix them.",
)
