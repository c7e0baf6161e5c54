# SPDX-License-Identifier: Apache-2.0
"""Where xla_ffi_ops gets what it is built with: one call in a WORKSPACE file."""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
load("//third_party/buildifier:buildifier.bzl", "buildifier")
load("//third_party/cuda:toolkit.bzl", "cuda_toolkit")
load("//third_party/debian:debian.bzl", "hermetic_tools")
load("//third_party/jaxlib:headers.bzl", "jaxlib_headers")
load("//third_party/pypi:pypi.bzl", "pypi_install", "wheel_store")
load("//third_party/pypi:sdist.bzl", "package_tests")
load("//third_party/python:python.bzl", "local_python")
load("//third_party/simd_sort:simd_sort.bzl", "simd_sort")

# The versions that WORKSPACE mode can load alone: later rules_cc and rules_python load protobuf,
# or repositories that take a second load in the caller's file.
_RULES = {
    "bazel_skylib": struct(
        prefix = None,
        sha256 = "bc283cdfcd526a52c3201279cda4bc298652efa898b10b4db0837dc51652756f",
        url = "bazel-skylib/releases/download/1.7.1/bazel-skylib-1.7.1.tar.gz",
    ),
    "rules_cc": struct(
        prefix = "rules_cc-0.0.10",
        sha256 = "65b67b81c6da378f136cc7e7e14ee08d5b9375973427eceb8c773a4f69fa7e49",
        url = "rules_cc/releases/download/0.0.10/rules_cc-0.0.10.tar.gz",
    ),
    "rules_python": struct(
        prefix = "rules_python-0.22.1",
        sha256 = "a5640fddd4beb03e8c1fde5ed7160c0ba6bd477e7d048661c30c06936a26fd63",
        url = "rules_python/releases/download/0.22.1/rules_python-0.22.1.tar.gz",
    ),
}

def xla_ffi_ops_repositories(
        pypi_lock = Label("//third_party/pypi:requirements.lock"),
        python = "python3",
        interpreter = None,
        headers_version = None,
        headers_sha256 = None,
        cuda_path = None,
        skip = []):
    """Declares our own repositories, in WORKSPACE files and module extensions.

    Args:
      pypi_lock: lock file of `@xla_ffi_ops_pypi`. One of your own must have what our libraries
          import, jax and numpy; for kit.testing also absl-py; for `//python:python` also
          flatbuffers and pytest.
      python: Python to find on PATH, or its path; XLA_FFI_OPS_PYTHON in the environment wins.
      interpreter: label of a hermetic toolchain's interpreter; nothing is searched then.
      headers_version: version of the jaxlib whose XLA FFI headers are compiled against.
      headers_sha256: hash of its wheel for CPython 3.12 on manylinux x86_64.
      cuda_path: absolute path of an installed CUDA toolkit, in place of PyPI's;
          XLA_FFI_OPS_CUDA_PATH in the environment wins.
      skip: names not to declare.
    """
    if (headers_version == None) != (headers_sha256 == None):
        fail("headers_version and headers_sha256 go together")
    if "xla_ffi_ops_python" not in skip:
        local_python(name = "xla_ffi_ops_python", interpreter = interpreter, python = python)
    if "xla_ffi_ops_headers" not in skip:
        jaxlib_headers(
            name = "xla_ffi_ops_headers",
            sha256 = headers_sha256,
            version = headers_version,
        )
    if "xla_ffi_ops_buildifier" not in skip:
        buildifier(name = "xla_ffi_ops_buildifier")
    if "xla_ffi_ops_cuda" not in skip:
        cuda_toolkit(name = "xla_ffi_ops_cuda", path = cuda_path)
    if "xla_ffi_ops_simd_sort" not in skip:
        simd_sort(name = "xla_ffi_ops_simd_sort")
    if "xla_ffi_ops_blackjax_tests" not in skip:
        package_tests(
            name = "xla_ffi_ops_blackjax_tests",
            backend = "setuptools/build_meta.py",
            lock = Label("//third_party/pypi:packages.lock"),
            package = "blackjax",
        )
    if "xla_ffi_ops_wheel_store" not in skip:
        wheel_store(name = "xla_ffi_ops_wheel_store")
    hermetic_tools(skip)
    for name, lock in {
        "xla_ffi_ops_bindings": Label("//third_party/pypi:bindings.lock"),
        "xla_ffi_ops_cuda_wheels": Label("//third_party/pypi:cuda.lock"),
        "xla_ffi_ops_demo": Label("//third_party/pypi:demo.lock"),
        "xla_ffi_ops_docs": Label("//third_party/pypi:docs.lock"),
        "xla_ffi_ops_oldest": Label("//third_party/pypi:oldest.lock"),
        "xla_ffi_ops_packages": Label("//third_party/pypi:packages.lock"),
        "xla_ffi_ops_pypi": pypi_lock,
        "xla_ffi_ops_remote": Label("//third_party/pypi:remote.lock"),
        "xla_ffi_ops_tools": Label("//third_party/pypi:tools.lock"),
    }.items():
        if name not in skip:
            requires = ["jax", "jaxlib", "numpy"] if name == "xla_ffi_ops_pypi" else []
            pypi_install(name = name, lock = lock, requires = requires)

def xla_ffi_ops_deps(register_python_toolchain = True, **kwargs):
    """Declares the dependencies of xla_ffi_ops in a WORKSPACE. Each is fetched at its first use.

    Makes rules_cc, rules_python, bazel_skylib and the repositories of `xla_ffi_ops_repositories`.
    It leaves repositories that the WORKSPACE has declared before.

    Args:
      register_python_toolchain: whether tests run with this Python. If not, register a toolchain of
          the same version: the wheels are for that version.
      **kwargs: for `xla_ffi_ops_repositories`.
    """
    declared = native.existing_rules().keys()
    for name, archive in _RULES.items():
        if name not in declared:
            http_archive(
                name = name,
                sha256 = archive.sha256,
                strip_prefix = archive.prefix,
                url = "https://github.com/bazelbuild/" + archive.url,
            )
    xla_ffi_ops_repositories(skip = declared, **kwargs)
    native.register_toolchains(str(Label("//third_party/debian:gcc")))
    if register_python_toolchain:
        native.register_toolchains("@xla_ffi_ops_python//:all")
