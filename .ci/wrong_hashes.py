# SPDX-License-Identifier: Apache-2.0
"""Every kind of download is refused if its hash is not the one that is written here.

Each is tried in a copy of the tree whose hash for it is another one, with an
empty output base and repository cache.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import reproducible

_PIP = "DO NOT MATCH THE HASHES"
_BAZEL = "Checksum was"
_BUILDIFIER = "third_party/buildifier/buildifier.bzl"
# The file with the hash, what is before it, what needs the download, and how it
# is refused.
_DOWNLOADS = {
    "Python packages": (
        *("third_party/pypi/requirements.lock", "--hash=sha256:"),
        *("@xla_ffi_ops_pypi//:jax", _PIP),
    ),
    "CUDA toolkit": (
        *("third_party/pypi/cuda.lock", "--hash=sha256:"),
        *("@xla_ffi_ops_cuda_wheels//...", _PIP),
    ),
    "Debian packages": (
        *("third_party/debian/python.lock", "\n"),
        *("@xla_ffi_ops_debian_python//:files", _BAZEL),
    ),
    "headers": (
        *("third_party/jaxlib/headers.bzl", 'default = "'),
        *("@xla_ffi_ops_headers//:headers", _PIP),
    ),
    "x86-simd-sort": (
        *("third_party/simd_sort/simd_sort.bzl", '_SHA256 = "'),
        *("@xla_ffi_ops_simd_sort//:simd_sort", _PIP),
    ),
    "npm": (
        *(_BUILDIFIER, "--hash=sha256:"),
        *("@xla_ffi_ops_buildifier//:buildifier", _PIP),
    ),
    "buildifier": (
        *(_BUILDIFIER, 'sha256 = "'),
        *("@xla_ffi_ops_buildifier//:buildifier", _BAZEL),
    ),
}


def is_refused(what: str, folder: pathlib.Path) -> bool:
  """Returns whether it is, and says so if it is not."""
  file, prefix, target, message = _DOWNLOADS[what]
  tree = folder / "tree"
  reproducible.copy_tree(tree)
  path = tree / file
  flip = lambda found: f"{prefix}{int(found[1], 16) ^ 1:x}"
  wrong, count = re.subn(
      re.escape(prefix) + r"([0-9a-f])(?=[0-9a-f]{63}\b)",
      flip,
      path.read_text("utf-8"),
  )
  if not count:
    sys.exit(f"wrong_hashes: {file} has no hash of {what}")
  path.write_text(wrong, "utf-8")
  bazel = [tree / "bazelw", f"--output_base={folder / 'out'}"]
  done = subprocess.run(
      [*bazel, "build", f"--repository_cache={folder / 'cache'}", target],
      cwd=tree,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
  )
  subprocess.run([*bazel, "clean", "--expunge"], cwd=tree, check=True)
  refused = done.returncode != 0 and message in done.stdout
  print(f"{what}: {'refused' if refused else done.stdout}", flush=True)
  return refused


def main() -> None:
  results = []
  for what in sys.argv[1:] or _DOWNLOADS:
    with tempfile.TemporaryDirectory() as folder:
      results.append(is_refused(what, pathlib.Path(folder)))
  sys.exit(not all(results))


if __name__ == "__main__":
  main()
