# SPDX-License-Identifier: Apache-2.0
"""Fetches what a package's source distribution on PyPI has, and its wheel has not."""

load("//third_party/python:python.bzl", "PYTHON_ATTRS", "python_of", "watch")
load(":pip.bzl", "python_with_pip", "run_python")

# Before it keeps a source distribution, pip asks the package's build system for its name. NumPy's
# would compile for minutes; this one in its place knows the answer.
_BACKEND = """
import pathlib

def prepare_metadata_for_build_wheel(folder, config_settings=None):
  info = pathlib.Path(folder, "{package}-{version}.dist-info")
  info.mkdir()
  text = "Metadata-Version: 2.1\\nName: {package}\\nVersion: {version}\\n"
  (info / "METADATA").write_text(text)
  return info.name
"""

# Of a repository with tests.
_BUILD = """\
load("@rules_python//python:defs.bzl", "py_library")

py_library(
    name = "tests",
    testonly = True,
    srcs = glob(["tests/**/*.py"]),
    imports = ["."],
    visibility = ["//visibility:public"],
)
"""

def unpack_sdist(rctx, package, version, requirement, backend, folder):
    """Unpacks a source distribution.

    Args:
      rctx: the repository context; its rule has PYTHON_ATTRS.
      package: its name.
      version: exact.
      requirement: a line of a lock, with hashes.
      backend: the file of the Python module that builds the package.
      folder: where it goes, in the repository.
    """
    python = python_with_pip(rctx, python_of(rctx).path)
    rctx.file("_lock.txt", requirement + "\n")
    rctx.file("_backend/" + backend, _BACKEND.format(package = package, version = version))

    # A folder without it would not come before a package of this Python.
    rctx.file(rctx.path("_backend/" + backend).dirname.get_child("__init__.py"))
    run_python(rctx, ["env", "PYTHONPATH={}".format(rctx.path("_backend")), python, "-s", "-m", "pip", "download"] + [
        "--quiet",
        "--no-deps",
        "--no-binary=:all:",
        "--no-build-isolation",
        "--require-hashes",
        "--requirement=_lock.txt",
        "--dest=_package",
    ], "Fetching the sources of {} {}".format(package, version))
    name = "{}-{}".format(package, version)
    rctx.extract("_package/{}.tar.gz".format(name), output = folder, stripPrefix = name)
    for scratch in ["_backend", "_lock.txt", "_package", "_pip"]:
        rctx.delete(scratch)

def _line(lock, package):
    """Returns a package's version, and its line without comments."""
    for line in lock.replace("\\\n", " ").splitlines():
        if line.startswith(package + "=="):
            return line.split("==")[1].split(" ")[0], line
    fail("the lock has no " + package)

def _package_tests_impl(rctx):
    watch(rctx, rctx.attr.lock)
    version, line = _line(rctx.read(rctx.attr.lock), rctx.attr.package)
    unpack_sdist(
        rctx,
        package = rctx.attr.package,
        version = version,
        requirement = line,
        backend = rctx.attr.backend,
        folder = "_sdist",
    )
    rctx.execute(["mv", "_sdist/tests", "tests"])
    rctx.delete("_sdist")
    rctx.file("BUILD.bazel", _BUILD, executable = False)

package_tests = repository_rule(
    implementation = _package_tests_impl,
    attrs = PYTHON_ATTRS | {
        "backend": attr.string(mandatory = True, doc = "See unpack_sdist."),
        "lock": attr.label(mandatory = True, allow_single_file = True),
        "package": attr.string(mandatory = True),
    },
    doc = "Makes `:tests`, a py_library of the folder `tests`.",
)
