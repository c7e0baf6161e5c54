# SPDX-License-Identifier: Apache-2.0
"""Writes docs/api.md, the API for BUILD files, from docstrings.

bazel run //tools:api_docs
"""

import os
import pathlib

import starlark_api

_STARLARK = {
    "xla_ffi_ops/defs.bzl": (
        "xla_ffi_op",
        "xla_ffi_jax_op",
        "xla_ffi_op_library",
        "xla_ffi_library",
        "xla_ffi_extension",
        "xla_ffi_kernel",
        "cuda_library",
        "xla_ffi_python_module",
    ),
    "xla_ffi_ops/deps.bzl": ("xla_ffi_ops_deps", "xla_ffi_ops_repositories"),
    "xla_ffi_ops/extensions.bzl": ("xla_ffi_ops",),
    "third_party/pypi/pypi.bzl": ("pypi_install",),
    "third_party/cuda/toolkit.bzl": ("cuda_toolkit",),
    "third_party/python/python.bzl": ("local_python",),
    "tools/wheel/wheel.bzl": ("wheel",),
}
_TARGETS = {
    "": ("cuda", "cuda_architectures", "cuda_enabled"),
    "xla_ffi_ops": ("ffi", "kernel", "cuda_kernel", "cudart", "headers"),
    "python": ("wheel",),
    "python/jax_ffi_ops": ("jax_ffi_ops",),
    "python/jax_ffi_ops/kit": ("kit", "testing"),
    "third_party/pypi": ("update",),
    "tools": ("doctor", "new_op", "sanitize"),
}
_API = """\
# The API for BUILD files

These are the macros, targets and flags for your BUILD files.
[api_python.md](api_python.md) is the API for Python.

`./bazelw run //tools:api_docs` writes this page from docstrings. A test compares
the two.\
"""
PAGE = "docs/api.md"


def _table(head, rows):
  lines = [
      "| {} |".format(" | ".join(x.replace("|", r"\|") for x in line))
      for line in [head, *rows]
  ]
  lines.insert(1, "|---" * len(head) + "|")
  return "\n".join(lines)


def api(root: pathlib.Path) -> str:
  """Returns the page, of the repository at `root`."""
  parts = [_API]
  for path, names in _STARLARK.items():
    values = starlark_api.run(root, path)
    package, _, file = path.rpartition("/")
    parts.append(f"## @xla_ffi_ops//{package}:{file}")
    for name in names:
      kind, text, arguments = starlark_api.describe(values[name])
      rows = [(f"`{n}`", *rest) for n, rest in arguments.items()]
      head = ("argument", "default", "meaning")
      parts += [f"### {name} ({kind})", text, _table(head, rows)]
  rows = [
      (f"`@xla_ffi_ops//{package}:{name}`", *found[name])
      for package, names in _TARGETS.items()
      for found in [starlark_api.targets(root / package / "BUILD.bazel")]
      for name in names
  ]
  parts += [
      "## Flags and targets",
      _table(("target", "default", "meaning"), rows),
  ]
  return "\n\n".join(parts) + "\n"


def main():
  """Writes the page of the workspace that Bazel runs in."""
  root = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  (root / PAGE).write_text(api(root), "utf-8")


if __name__ == "__main__":
  main()
