# SPDX-License-Identifier: Apache-2.0
"""Functions of new names that call handlers, in C: no linker gives aliases to a version script."""

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
    doc = "Writes `name`.c: a function for each key of `aliases`, which calls that of the value.",
)
