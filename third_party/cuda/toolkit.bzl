# SPDX-License-Identifier: Apache-2.0
"""The CUDA toolkit, from locked wheels or from an installed one."""

load("//third_party/python:python.bzl", "watch")

# Folders of a toolkit. For each: its possible places below the root, and files that it must have.
_LAYOUT = {
    "bin": (["bin"], ["nvcc", "nvcc.profile", "cudafe++", "fatbinary", "ptxas"]),
    "include": (
        ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"],
        ["cuda_runtime.h", "cuda_runtime_api.h"],
    ),
    "lib": (
        ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"],
        ["libcudart_static.a"],
    ),
    "nvvm": (["nvvm"], ["bin/cicc", "libdevice"]),
}

_MAJOR_VERSIONS = ["12", "13"]

_VERSION = "#define CUDART_VERSION"

# jax_ffi_ops/doctor/cuda_versions.py looks for this text. Neither the compiler (used) nor the linker
# (retain) may leave it out.
_VERSION_SOURCE = """\
__attribute__((used, retain)) static const char toolkit[] = "xla_ffi_ops: CUDA {}";
"""

def _find(root, folders, files):
    """Returns the first folder that has all files, or None."""
    for folder in folders:
        found = root.get_child(folder)
        if all([found.get_child(file).exists for file in files]):
            return found
    return None

def _version(rctx, include, said):
    text = rctx.read(include.get_child("cuda_runtime_api.h"))
    _, _, number = text.partition(_VERSION)
    number = number.split("\n")[0].strip()
    if not number.isdigit():
        fail("{}: cuda_runtime_api.h has no line `{} <number>`.".format(said, _VERSION))
    major, minor = str(int(number) // 1000), str(int(number) % 1000 // 10)
    if major not in _MAJOR_VERSIONS:
        fail("{} is CUDA {}.{}; supported are {}.".format(
            said,
            major,
            minor,
            " and ".join([version + ".x" for version in _MAJOR_VERSIONS]),
        ))
    return major + "." + minor

def _cuda_toolkit_impl(rctx):
    path = rctx.os.environ.get("XLA_FFI_OPS_CUDA_PATH") or rctx.attr.path
    if path:
        said = "The CUDA toolkit `{}`".format(path)
        if not path.startswith("/"):
            fail(said + " has to be named by its absolute path.")
        root = rctx.path(path)
    else:
        said = "The CUDA toolkit of " + str(rctx.attr.wheels)
        watch(rctx, rctx.attr.wheels)
        root = rctx.path(rctx.attr.wheels).dirname.get_child("site-packages/nvidia/cu13")

    # The folders are always the same. Without a folder `targets`, nvcc finds headers in `include`.
    for name, (folders, files) in _LAYOUT.items():
        found = _find(root, folders, files)
        if not found:
            fail("{} lacks {} in {} (chosen by XLA_FFI_OPS_CUDA_PATH or cuda_toolkit).".format(
                said,
                ", ".join(files),
                " or ".join(["{}/{}".format(root, folder) for folder in folders]),
            ))
        rctx.symlink(found, "cuda/" + name)

    # Any version of these two programs reads the output of an older compiler.
    readers = {
        name: "cuda/bin/" + name if root.get_child("bin/" + name).exists else str(
            rctx.attr.wheels.same_package_label("bin/" + name),
        )
        for name in ["cuobjdump", "nvdisasm"]
    }
    version = _version(rctx, rctx.path("cuda/include"), said)
    rctx.file("version.cc", _VERSION_SOURCE.format(version), executable = False)
    rctx.template("BUILD.bazel", rctx.attr._build_file, {
        "{" + key + "}": value
        for key, value in readers.items() + [
            ("origin", path or "PyPI"),
            ("version", version),
        ]
    }, executable = False)

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    attrs = {
        "path": attr.string(
            doc = "Absolute path of an installed toolkit, 12.x or 13.x, to use instead of `wheels`. " +
                  "The environment's XLA_FFI_OPS_CUDA_PATH overrides it.",
        ),
        "wheels": attr.label(
            default = "@xla_ffi_ops_cuda_wheels//:BUILD.bazel",
            doc = "BUILD file of a pypi_install whose lock has the toolkit's wheels.",
        ),
        "_build_file": attr.label(default = "//third_party/cuda:toolkit.BUILD"),
    },
    environ = ["XLA_FFI_OPS_CUDA_PATH"],
    doc = """A CUDA compiler, its headers and the static runtime library.

Makes `:compiler` and `cuda/bin/nvcc`, which cuda_library uses; `:cudart`, the
headers and the library for C++ that calls CUDA; `:cuobjdump` and `:nvdisasm`.""",
)
