# SPDX-License-Identifier: Apache-2.0
"""C functions that call handlers by other names: a version script exports no linker's aliases."""

_FUNCTION = """
void *{of}(void *frame);
void *{alias}(void *frame) {{ return {of}(frame); }}
"""

def _aliases_impl(ctx):
    source = ctx.actions.declare_file(ctx.label.name + ".c")
    functions = [_FUNCTION.format(alias = a, of = of) for a, of in ctx.attr.aliases.items()]
    ctx.actions.write(source, "".join(functions))
    return [DefaultInfo(files = depset([source]))]

aliases = rule(
    implementation = _aliases_impl,
    attrs = {"aliases": attr.string_dict(mandatory = True)},
    doc = "Writes `name`.c. Each key of `aliases` becomes a function, which calls its value.",
)
