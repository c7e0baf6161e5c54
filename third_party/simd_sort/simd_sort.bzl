# SPDX-License-Identifier: Apache-2.0
"""x86-simd-sort's headers, out of NumPy's source distribution on PyPI."""

load("//third_party/pypi:sdist.bzl", "unpack_sdist")
load("//third_party/python:python.bzl", "PYTHON_ATTRS")

_VERSION = "2.4.6"

_SHA256 = "f3a3570c4a2a16746ac2c31a7c7c7b0c186b95ce902e33db6f28094ed7387dda"

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
    unpack_sdist(
        rctx,
        package = "numpy",
        version = _VERSION,
        requirement = "numpy=={} --hash=sha256:{}".format(_VERSION, _SHA256),
        backend = "mesonpy.py",
        folder = "_numpy",
    )
    for name in ["LICENSE.md", "src"]:
        rctx.execute(["mv", "_numpy/numpy/_core/src/npysort/x86-simd-sort/" + name, name])
    rctx.delete("_numpy")
    rctx.file("BUILD.bazel", _BUILD, executable = False)

simd_sort = repository_rule(
    implementation = _simd_sort_impl,
    attrs = PYTHON_ATTRS,
    doc = "Makes `:simd_sort`, a cc_library of system headers.",
)
