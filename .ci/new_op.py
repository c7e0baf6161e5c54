# SPDX-License-Identifier: Apache-2.0
"""Has the scaffold write ops, in a copy of the repository and in a project.

They have to build and to pass their tests as they are. What this repository's
last builds have fetched is not fetched again.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import reproducible

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_BAZELW = str(_ROOT / "bazelw")
# With each option and without it.
_HERE = {
    "scaffolded_plain": [],
    "scaffolded_backward": ["--backward", "--dtypes=float64,bfloat16"],
}
_IN_A_PROJECT = {
    "row_dot": ["--backward"],
    "one_dtype": ["--dtypes=float32"],
}
_WORKSPACE = """\
local_repository(
    name = "xla_ffi_ops",
    path = "../xla_ffi_ops",
)

load("@xla_ffi_ops//xla_ffi_ops:deps.bzl", "xla_ffi_ops_deps")

xla_ffi_ops_deps()
"""


def _copy_repository(folder):
  reproducible.copy_tree(folder)
  if (_ROOT / "user.bazelrc").exists():  # It may have a cache.
    shutil.copy(_ROOT / "user.bazelrc", folder)
  # The formatter asks git which files there are.
  subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def _options():
  """Returns options with which nested builds fetch nothing twice."""
  base = subprocess.run(
      [_BAZELW, "info", "output_base"],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      check=True,
      text=True,
  ).stdout.strip()
  wheels = f"{base}/external/xla_ffi_ops_wheel_store/wheels"
  return [f"--repo_env=XLA_FFI_OPS_WHEEL_STORE={wheels}"]


def _run_here(bazel, folder):
  for name, options in _HERE.items():
    bazel(folder, "run", "//tools:new_op", "--", name, *options)
  bazel(folder, "run", "//tools:format")
  tests = [f"//tests/ops/{name}:all" for name in _HERE]
  bazel(folder, "test", *tests, "//tests/fuzz/...", "//benchmarks/...")


def _run_in_a_project(bazel, folder):
  ops = folder / "ops"
  ops.mkdir(parents=True)
  (folder / "WORKSPACE").write_text(_WORKSPACE)
  (folder / ".bazelrc").write_text("common --noenable_bzlmod\n")
  for name, options in _IN_A_PROJECT.items():
    bazel(ops, "run", "@xla_ffi_ops//tools:new_op", "--", name, *options)
  bazel(ops, "test", "--test_output=errors", "//ops/...")


def main():
  """Does it all in a temporary folder."""
  scratch = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
  options = _options()
  workspaces = {}

  def bazel(folder, command, *args):
    workspace = folder.relative_to(scratch).parts[0]
    base = f"--output_base={scratch / 'output' / workspace}"
    workspaces[base] = scratch / workspace
    line = [_BAZELW, base, command, *options, *args]
    subprocess.run(line, cwd=folder, check=True)

  try:
    _copy_repository(scratch / "xla_ffi_ops")
    _run_here(bazel, scratch / "xla_ffi_ops")
    _run_in_a_project(bazel, scratch / "my_project")
  finally:
    for base, folder in workspaces.items():
      subprocess.run([_BAZELW, base, "shutdown"], cwd=folder, check=True)
    subprocess.run(["chmod", "-R", "u+w", scratch], check=True)
    shutil.rmtree(scratch)


if __name__ == "__main__":
  main()
