# SPDX-License-Identifier: Apache-2.0
"""One archive of what some targets run with, for machines without Bazel."""

# Neither programs, which need Bazel's folders, nor what they are started with.
_EXTENSIONS = ["md", "py", "so"]

def _name(file, packages):
    """Returns a file's name in the archive, or None."""
    if file.extension not in _EXTENSIONS:
        return None
    if not file.short_path.startswith("../"):
        return file.short_path
    _, found, name = file.short_path.partition("/site-packages/")
    return "site-packages/" + name if found and name.split("/")[0] in packages else None

def _bundle_impl(ctx):
    archive = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    files = {"run.py": ctx.file.main}
    for file in depset(transitive = [
        target[DefaultInfo].default_runfiles.files
        for target in ctx.attr.targets
    ]).to_list():
        name = _name(file, ctx.attr.packages)
        if name:
            files[name] = file
    arguments = ctx.actions.args()
    arguments.add(archive)
    arguments.add_all([name + "=" + file.path for name, file in files.items()])
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        outputs = [archive],
        inputs = files.values(),
        executable = ctx.executable._pack,
        arguments = [arguments],
        mnemonic = "Bundle",
    )
    return DefaultInfo(files = depset([archive]))

bundle = rule(
    implementation = _bundle_impl,
    attrs = {
        "main": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "Becomes run.py of the archive.",
        ),
        "packages": attr.string_list(doc = "Names of the Python packages that are taken along."),
        "targets": attr.label_list(doc = "Tests and programs in Python."),
        "_pack": attr.label(
            default = "//tests/gpu/bundle:pack",
            cfg = "exec",
            executable = True,
        ),
    },
    doc = """Makes `<name>.tar.gz`, the same bytes from the same files.

Files of this repository keep their paths; those of Python packages are in
`site-packages`. The archive has the libraries of the configuration it is built
in: with CUDA handlers or without.""",
)
