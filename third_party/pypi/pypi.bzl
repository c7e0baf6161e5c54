# SPDX-License-Identifier: Apache-2.0
"""Installs a lock file's Python packages as a repository with one target per package."""

load("//third_party/python:python.bzl", "PYTHON_ATTRS", "python_of", "watch")
load(":pip.bzl", "python_with_pip", "run_python")

def _pypi_install_impl(rctx):
    for label in [rctx.attr.lock] + rctx.attr._program:
        watch(rctx, label)
    lock = rctx.path(rctx.attr.lock)
    program = [rctx.path(label) for label in rctx.attr._program][0]
    python = python_of(rctx)
    store = rctx.os.environ.get("XLA_FFI_OPS_WHEEL_STORE")
    run_python(rctx, [
        python_with_pip(rctx, python.path),
        "-sB",
        program,
        lock,
        store or rctx.path(rctx.attr._store).dirname.get_child("wheels"),
        str(Label(":python_check.bzl")),
        str(rctx.attr.interpreter or rctx.attr.python),
    ] + rctx.attr.requires, "Installing {} for Python {}".format(rctx.attr.lock, python.version))
    rctx.delete("_pip")

wheel_store = repository_rule(
    implementation = lambda rctx: rctx.file("BUILD.bazel", executable = False),
    doc = "Keeps the packages that pypi_install has unpacked: a new lock installs only new ones.",
)

pypi_install = repository_rule(
    implementation = _pypi_install_impl,
    attrs = PYTHON_ATTRS | {
        "lock": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "Requirements with exact versions, hashes and environment markers.",
        ),
        "requires": attr.string_list(doc = "Packages that must be in the lock."),
        "_program": attr.label_list(default = [
            "//third_party/pypi:install.py",
            "//third_party/pypi:build_file.py",
            "//third_party/pypi:lock_file.py",
            "//third_party/pypi:store.py",
        ]),
        "_store": attr.label(default = "@xla_ffi_ops_wheel_store//:BUILD.bazel"),
    },
    environ = ["XLA_FFI_OPS_WHEEL_STORE"],
    doc = """Installs the packages of a lock that apply to this interpreter and platform.

It installs only wheels, and only if the lock has their hashes. It uses the
index and the certificates of the user's pip. For a package `Some-Name`, the
repository has:

*   `:some_name`, a py_library, with all packages that its wheel requires at
    run time. Requirements that the lock lacks are left out.
*   `:some_name_files`, every file of its wheel, for tools that need more.
*   `:some_name_headers`, a cc_library, if the wheel has a folder `include`.
    Other C++ files of the wheel can be included by their paths.
*   `:some_name_bin`, if the wheel has programs. Each is also a file
    `bin/program`.

All wheels share one `site-packages`, as in a virtual environment. Each wheel is
unpacked once, and linked again when a lock changes. To share unpacked wheels
between workspaces, set
--repo_env=XLA_FFI_OPS_WHEEL_STORE=<folder on the same file system>.""",
)
