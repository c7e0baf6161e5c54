# SPDX-License-Identifier: Apache-2.0
"""XLA's FFI headers, out of one pinned jaxlib wheel."""

load("//third_party/pypi:pip.bzl", "python_with_pip", "run_python")
load("//third_party/python:python.bzl", "PYTHON_ATTRS", "python_of")

# Headers are text and the same in every wheel of a version: one is enough for all machines.
_WHEEL = [
    "--platform=manylinux_2_27_x86_64",
    "--platform=manylinux2014_x86_64",
    "--implementation=cp",
    "--python-version=3.12",
]

_UNPACK = """
import pathlib, zipfile
for wheel in pathlib.Path("_wheel").glob("*.whl"):
  with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
      if name.startswith("jaxlib/include/") and not name.endswith("/"):
        path = pathlib.Path(name).relative_to("jaxlib")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.read(name))
"""

_BUILD = """\
# SPDX-License-Identifier: Apache-2.0
\"\"\"XLA's FFI headers of jaxlib {version}.\"\"\"

load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(["include/**"], allow_empty = False),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

def _jaxlib_headers_impl(rctx):
    python = python_with_pip(rctx, python_of(rctx).path)
    version = rctx.attr.version
    rctx.file("_lock.txt", "jaxlib=={} --hash=sha256:{}\n".format(version, rctx.attr.sha256))
    doing = "Fetching the headers of jaxlib " + version
    run_python(rctx, [python, "-sE", "-m", "pip", "download", "--quiet"] + _WHEEL + [
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement=_lock.txt",
        "--dest=_wheel",
    ], doing)
    run_python(rctx, [python, "-sE", "-c", _UNPACK], doing)
    for scratch in ["_wheel", "_lock.txt", "_pip"]:
        rctx.delete(scratch)
    rctx.file("BUILD.bazel", _BUILD.format(version = version), executable = False)

jaxlib_headers = repository_rule(
    implementation = _jaxlib_headers_impl,
    attrs = PYTHON_ATTRS | {
        "sha256": attr.string(
            default = "88b276a71f4f2071b1fd2e922abfd67c87c6977a551a1036febcea78d5ef7e22",
            doc = "Hash of that version's cp312 wheel for manylinux x86_64, on every machine.",
        ),
        "version": attr.string(
            default = "0.9.2",
            doc = "XLA refuses a handler newer than itself: the oldest version that must load it.",
        ),
    },
    doc = "Makes `:headers`, a cc_library of system headers; needs no installed jaxlib.",
)
