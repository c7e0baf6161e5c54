# SPDX-License-Identifier: Apache-2.0
"""The repositories of `xla_ffi_ops_deps`, for MODULE.bazel files."""

load(":deps.bzl", "xla_ffi_ops_repositories")

_CHOICES = {
    name: make(doc = "As in `xla_ffi_ops_repositories`.")
    for name, make in {
        "cuda_path": attr.string,
        "headers_sha256": attr.string,
        "headers_version": attr.string,
        "interpreter": attr.label,
        "pypi_lock": attr.label,
        "python": attr.string,
    }.items()
}

def _xla_ffi_ops_impl(mctx):
    choices = {}
    for module in mctx.modules:
        # A program has one Python and one jax: its own module chooses them.
        for tag in module.tags.choose if module.is_root else []:
            for name in _CHOICES:
                value = getattr(tag, name)
                if value and name in choices:
                    fail("xla_ffi_ops.choose has {} twice".format(name))
                if value:
                    choices[name] = value
    xla_ffi_ops_repositories(**choices)
    return mctx.extension_metadata(reproducible = True)

xla_ffi_ops = module_extension(
    implementation = _xla_ffi_ops_impl,
    tag_classes = {"choose": tag_class(
        attrs = _CHOICES,
        doc = "Only the choices of the root module count.",
    )},
    doc = "Makes the repositories that `xla_ffi_ops_deps` makes in a WORKSPACE.",
)
