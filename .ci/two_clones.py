# SPDX-License-Identifier: Apache-2.0
"""Builds in two clones: offline, the same bits twice, and from shared caches.

  two_clones.py [BAZEL_OPTION ...]

The first clone fetches; then it builds and tests without a network. The second,
in another folder and with another HOME and PATH, builds the same bits. At last
each builds from the cache that the other has filled, and runs nothing itself:
the second from a folder, the first from the engine of tests/remote.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import execution_log
import reproducible

import remote

# The rest takes minutes: kernels for the emulator of CUDA.
_OBJECTS = """kind("cc_binary rule", //examples/... + //python/... + //tests/kit/...
    + //tests/wheel/...) except attr(tags, manual, //...)"""
_WHEEL = "//python:wheel"
_TESTS = (
    "//examples/cyclic_add:cyclic_add_test",
    "//tests/kit/cpp/handler:checks_test",
    "//tests/ops/softmax:softmax_test",
)
_SUFFIXES = (".so", ".whl")
# No network but the loopback interface, by which Bazel talks to its server. That
# has to end here: from outside nobody reaches it.
_OFFLINE = """ip link set lo up
"$@"
status=$?
"$1" "$2" shutdown
exit $status"""


class _Clone:
  """A copy of this tree, with what is not committed yet."""

  def __init__(self, folder, options):
    self.tree = folder / "tree"
    reproducible.copy_tree(self.tree)
    home, tools = folder / "home", folder / "tools"
    home.mkdir()
    tools.mkdir()
    caches = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    self._environment = os.environ | {
        "HOME": str(home),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": caches,  # Where bazelw has installed Bazel.
    }
    self._bazel = [self.tree / "bazelw", f"--output_base={folder / 'output'}"]
    self._options = options

  def run(self, command, *arguments, prefix=(), **options):
    """Runs Bazel; returns what it prints, if `stdout` is a pipe."""
    flags = () if command in ("clean", "shutdown") else self._options
    return subprocess.run(
        [*prefix, *self._bazel, command, *flags, *arguments],
        cwd=self.tree,
        env=self._environment,
        check=True,
        text=True,
        **options,
    ).stdout

  def run_offline(self, *arguments):
    """Runs Bazel where there is no network."""
    self.run("shutdown")
    prefix = ("unshare", "--map-root-user", "--net", "sh", "-c", _OFFLINE, "sh")
    self.run(*arguments, prefix=prefix)

  def hashes(self):
    return reproducible.hashes(self.tree, _SUFFIXES)

  def is_cached(self, name, *arguments):
    """Builds from a cache; returns whether nothing ran, and says so."""
    log = self.tree.parent / f"{name}.json"
    self.run("clean")
    options = (
        f"--execution_log_json_file={log}",
        "--remote_download_outputs=all",
    )
    self.run("build", *options, *arguments)
    spawns = list(execution_log.spawns(log))
    missed = [spawn for spawn in spawns if not spawn["cacheHit"]]
    for spawn in missed:
      print("ran:", spawn["runner"], spawn["mnemonic"], spawn["targetLabel"])
    hits = len(spawns) - len(missed)
    print(f"{hits} of {len(spawns)} from the cache {name}", flush=True)
    return bool(hits) and not missed


def _same(what, expected, found):
  """Says which files differ; returns whether none does."""
  different = [
      name
      for name in sorted(expected.keys() | found.keys())
      if expected.get(name) != found.get(name)
  ]
  print(f"{what}: {len(found)} files, {len(different)} differ", *different)
  return bool(found) and not different


def _check(folder, first, second):
  """Returns whether all is as the first lines of this file say."""
  first.run("fetch", "//...")
  query = first.run("query", _OBJECTS, stdout=subprocess.PIPE)
  targets = [*query.split(), _WHEEL, *_TESTS]
  targets.append("--skip_incompatible_explicit_targets")
  disk = f"--disk_cache={folder / 'disk'}"
  first.run_offline("test", "--nobuild_tests_only", disk, *targets)
  expected = first.hashes()
  results = []
  with remote.engine(folder / "engine") as engine:
    cache = (f"--remote_cache=grpc://{engine.address}", *remote.CALLS)
    second.run("build", *cache, *targets)
    results.append(_same("built twice", expected, second.hashes()))
    results.append(second.is_cached("on disk", disk, *targets))
    results.append(_same("from the disk", expected, second.hashes()))
    results.append(first.is_cached("remote", *cache, *targets))
    results.append(_same("from the server", expected, first.hashes()))
  return all(results)


def main():
  folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
  clones = []
  try:
    for name in ("one", "another/of_a_longer_name"):
      clones.append(_Clone(folder / name, sys.argv[1:]))
    sys.exit(not _check(folder, *clones))
  finally:
    for clone in clones:
      clone.run("shutdown")
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
  main()
