# SPDX-License-Identifier: Apache-2.0
"""x86-simd-sort's headers, out of NumPy's source distribution on PyPI."""

load("//third_party/pypi:pip.bzl", "python_with_pip", "run_python")
load("//third_party/python:python.bzl", "PYTHON_ATTRS", "python_of")

_VERSION = "2.4.6"

_SHA256 = "f3a3570c4a2a16746ac2c31a7c7c7b0c186b95ce902e33db6f28094ed7387dda"

# Before it keeps a source distribution, pip asks the package's build system for its name. NumPy's
# would compile for minutes; this one in its place knows the answer.
_BACKEND = """
import pathlib

def prepare_metadata_for_build_wheel(folder, config_settings=None):
  info = pathlib.Path(folder, "numpy-{version}.dist-info")
  info.mkdir()
  text = "Metadata-Version: 2.1\\nName: numpy\\nVersion: {version}\\n"
  (info / "METADATA").write_text(text)
  return info.name
""".format(version = _VERSION)

_BUILD = """\
# SPDX-License-Identifier: Apache-2.0
\"\"\"x86-simd-sort of numpy {version} (BSD-3-Clause, LICENSE.md).\"\"\"

load("@rules_cc//cc:defs.bzl", "cc_library")

exports_files(["LICENSE.md"])

cc_library(
    name = "simd_sort",
    hdrs = glob(["src/*"], allow_empty = False),
    includes = ["src"],
    visibility = ["//visibility:public"],
)
""".format(version = _VERSION)

def _simd_sort_impl(rctx):
    python = python_with_pip(rctx, python_of(rctx).path)
    rctx.file("_lock.txt", "numpy=={} --hash=sha256:{}\n".format(_VERSION, _SHA256))
    rctx.file("_backend/mesonpy.py", _BACKEND)
    run_python(rctx, ["env", "PYTHONPATH={}".format(rctx.path("_backend")), python, "-s", "-m", "pip", "download"] + [
        "--quiet",
        "--no-deps",
        "--no-binary=:all:",
        "--no-build-isolation",
        "--require-hashes",
        "--requirement=_lock.txt",
        "--dest=_package",
    ], "Fetching x86-simd-sort of NumPy " + _VERSION)
    folder = "numpy-{0}/numpy/_core/src/npysort/x86-simd-sort".format(_VERSION)
    rctx.extract("_package/numpy-{}.tar.gz".format(_VERSION), output = "_package")
    for name in ["LICENSE.md", "src"]:
        rctx.execute(["mv", "_package/{}/{}".format(folder, name), name])
    for scratch in ["_backend", "_lock.txt", "_package", "_pip"]:
        rctx.delete(scratch)
    rctx.file("BUILD.bazel", _BUILD, executable = False)

simd_sort = repository_rule(
    implementation = _simd_sort_impl,
    attrs = PYTHON_ATTRS,
    doc = "Makes `:simd_sort`, a cc_library of system headers.",
)
