# SPDX-License-Identifier: Apache-2.0
"""One archive of what some targets run with, for machines without Bazel."""

# Neither programs, which need Bazel's folders, nor what they are started with.
_EXTENSIONS = ["md", "py", "so"]

# Neither times nor owners: the same bytes from the same files.
_TAR = """
tar --create --dereference --files-from="$1" --format=ustar --mode=0644 --mtime=@0 \
  --owner=0 --group=0 --numeric-owner --transform='s,^bazel-out/[^/]*/bin/,,' \
  --transform='s,^external/.*/site-packages/,site-packages/,' \
  --transform='s,^tests/gpu/bundle/run.py$,run.py,' \
  --transform='s,^,jax_ffi_ops_bundle/,' | gzip --no-name > "$2"
"""

def _is_packed(file, packages):
    _, found, name = file.short_path.partition("/site-packages/")
    ours = not file.short_path.startswith("../")
    return file.extension in _EXTENSIONS and (ours or found and name.split("/")[0] in packages)

def _bundle_impl(ctx):
    archive = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    found = depset([ctx.file.main], transitive = [
        target[DefaultInfo].default_runfiles.files
        for target in ctx.attr.targets
    ]).to_list()
    files = {file.short_path: file for file in found if _is_packed(file, ctx.attr.packages)}
    files = [files[path] for path in sorted(files)]
    names = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(names, "".join([file.path + "\n" for file in files]))
    ctx.actions.run_shell(
        outputs = [archive],
        inputs = files + [names],
        arguments = [names.path, archive.path],
        command = _TAR,
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
    },
    doc = """Makes `<name>.tar.gz`, the same bytes from the same files.

Files of this repository keep their paths; those of Python packages are in
`site-packages`. The archive has the libraries of the configuration it is built
in: with CUDA handlers or without.""",
)
