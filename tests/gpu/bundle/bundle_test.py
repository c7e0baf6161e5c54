# SPDX-License-Identifier: Apache-2.0
"""The bundle runs where there is jax and nothing else of what we use."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from absl.testing import absltest
import jax

_ARCHIVE = pathlib.Path(__file__).parents[2] / "gpu_bundle.tar.gz"
_FAILING = """
from absl.testing import absltest

class Test(absltest.TestCase):
  def test_right(self):
    pass

  def test_wrong(self):
    self.fail()

absltest.main()
"""
# Faults of tests, of peers and of an op.
_PLANTED = {
    "tests/added_crash_test.py": "import os; os.abort()",
    "tests/added_memory_test.py": """
import jax.numpy as jnp
jnp.zeros(1 << 48).block_until_ready()
""",
    "tests/added_right_test.py": """
from absl.testing import absltest

class Test(absltest.TestCase):
  def test_right(self):
    pass

absltest.main()
""",
    "benchmarks/planted.py": """
import dataclasses
import os
import jax
import jax.numpy as jnp
from jax_ffi_ops.timing.case import Timed
from jax_ffi_ops.timing.operands import array

def plain(x):
  return jnp.tanh(x)

def wrong(x):
  return 1.01 * plain(x)

def large(x):
  with jax.ensure_compile_time_eval():
    return plain(x) + jnp.zeros(1 << 48)[0]

def crash(x):
  os.abort()

_RIGHT = Timed(
    function=plain,
    operands=lambda rows, cols: (array(rows, cols),),
    sizes=["8x4"],
    gpu_sizes=["8x4"],
    streams={"forward": 2, "backward": 3},
    peers={"plain": plain, "wrong": wrong, "large": large},
)
CASES = {
    "peers": _RIGHT,
    "wrong": dataclasses.replace(_RIGHT, function=wrong),
    "crash": dataclasses.replace(
        _RIGHT, peers=_RIGHT.peers | {"crash": crash}
    ),
}
""",
}


def _link_packages(folder):
  """Makes a folder of links to what the other machine has."""
  installed = pathlib.Path(jax.__file__).parent.parent
  for path in installed.iterdir():
    if path.name.startswith(
        ("jax", "ml_dtypes", "numpy", "opt_einsum", "scipy")
    ):
      (folder / path.name).symlink_to(path)


class BundleTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    scratch = tempfile.TemporaryDirectory()
    cls.addClassCleanup(scratch.cleanup)
    packages = pathlib.Path(scratch.name, "packages")
    packages.mkdir()
    _link_packages(packages)
    with tarfile.open(_ARCHIVE) as archive:
      archive.extractall(scratch.name)
    (cls.folder,) = pathlib.Path(scratch.name).glob("*_bundle")
    cls.env = os.environ | {"PYTHONPATH": str(packages)}
    cls.env.pop("TESTBRIDGE_TEST_ONLY", None)  # The filter is for this file.

  def popen(self, *args):
    return subprocess.Popen(
        [sys.executable, self.folder / "run.py", *args],
        env=self.env,
        stdout=subprocess.PIPE,
        text=True,
    )

  def start(self, *args):
    """Runs run.py; returns its exit status and what it prints."""
    with self.popen(*args) as process:
      output, _ = process.communicate()
    return process.returncode, output

  def test_tests(self):
    status, output = self.start("test", "--shards=2", "gpu/buffers", "kit_attr")
    self.assertEqual(status, 0, output)
    self.assertRegex(
        output,
        r"(?m)^tests/kit/kit_attributes_test.py 1/2: passed: \d+ passed",
    )
    self.assertRegex(output, r"(?m)^pass  tests +4 of 4 passed: [1-9]\d* tests")

  def add(self, name, text):
    file = self.folder / name
    self.addCleanup(file.unlink)
    file.write_text(text)

  def test_failure(self):
    self.add("tests/added_test.py", _FAILING)
    status, output = self.start("test", "added_test")
    self.assertEqual(status, 1)
    self.assertIn("failed: test_wrong", output)
    self.assertRegex(output, r"(?m)^FAIL  tests .*: 1 tests \(")
    with tarfile.open(self.folder / "logs.tar.gz") as archive:
      logs = archive.getnames()
    self.assertIn("logs/test/tests.added_test.py.4.4.log", logs)
    self.assertIn("logs/test/table.txt", logs)

  def test_shards(self):
    self.add("tests/added_test.py", _FAILING)
    _, output = self.start("test", "--shards=3", "added_test")
    for shard, counts in enumerate(
        ("1 passed, 0", "0 passed, 1", "0 passed, 0")
    ):
      file = f"tests/added_test.py {shard + 1}/3"
      self.assertRegex(output, f"(?m)^{file}: .*: {counts} failed")

  def test_process_that_ends_early(self):
    self.add("tests/added_test.py", "import os; os.abort()")
    status, output = self.start("test", "--shards=1", "added_test")
    self.assertEqual(status, 1)
    self.assertIn("the process ended early: ended by SIGABRT", output)

  def test_process_that_does_not_end(self):
    self.add("tests/added_test.py", "import time; time.sleep(1000)")
    status, output = self.start("test", "--timeout=0.5", "added_test")
    self.assertEqual(status, 1)
    self.assertIn("the process ended early: more than 0.5 s", output)

  def test_all(self):
    """Rehearses what a GPU is too dear for."""
    for name, text in _PLANTED.items():
      self.add(name, text)
    catalog = self.folder / "benchmarks/catalog.py"
    text = catalog.read_text("utf-8")
    self.addCleanup(catalog.write_text, text, "utf-8")
    catalog.write_text(text + "\nfrom planted import CASES\n", "utf-8")
    logs = self.folder / "logs/all"
    self.addCleanup(shutil.rmtree, logs)
    command = ("all", "--minutes=20", "--shards=1", "tests/added")
    self.interrupt(command, logs / "results.jsonl")
    status, output = self.start(*command)
    self.assertEqual(status, 1)
    results = (logs / "results.jsonl").read_text("utf-8").splitlines()
    results = [x for x in map(json.loads, results) if "part" in x]
    parts = [x["part"] for x in results if not x.get("again")]
    self.assertCountEqual(parts, set(parts), "something ran twice")
    told = {x["part"]: (x["status"], x["note"]) for x in results}

    failed, alone = "0 passed, 1 failed", " (at first: {})"
    crash = "tests/added_crash_test.py 1/1"
    self.assertEqual(told[crash], ("failed", failed))
    memory = "tests/added_memory_test.py 1/1"
    self.assertEqual(told[memory], ("failed", failed + alone.format(failed)))
    for direction in ("forward", "both"):
      line = "/8x4/float32/" + direction
      self.assertRegex(
          told["peers" + line][1],
          r"ulps\); plain .*, wrong dropped .*inaccurate.*, large dropped .*RESO",
      )
      self.assertRegex(
          told["wrong" + line][1], "^inaccurate, .*at first: inaccurate, "
      )
      self.assertRegex(
          told["crash" + line][1], r"ulps\); .*at first: ended by SIGABRT"
      )
    self.assertRegex(
        output, "(?m)^FAIL  tests +1 of 3 passed, 2 failed: 1 tests"
    )
    self.assertRegex(output, "(?m)^FAIL  benchmark +4 of 6 passed, 2 failed")
    self.assertRegex(output, "(?m)^open  kernels ")

  def test_all_without_the_time(self):
    self.addCleanup(shutil.rmtree, self.folder / "logs" / "all")
    status, output = self.start("all", "--minutes=0.001", "gpu/buffers")
    self.assertEqual(status, 1)
    self.assertRegex(output, "(?m)^open  tests +0 of 16 passed, 16 not run")

  def interrupt(self, command, results):
    """Runs until a line of the benchmark has ended, and stops it there."""
    with self.popen(*command) as process:
      while not results.exists() or "/8x4/" not in results.read_text("utf-8"):
        self.assertIsNone(process.poll())
        time.sleep(0.1)
      process.terminate()
      output, _ = process.communicate()
    self.assertEqual(process.returncode, 2, output)
    self.assertIn("\nThere is more to do: ", output)
    self.assertTrue((self.folder / "logs.tar.gz").exists())

  def test_compare(self):
    other = self.folder.with_name("other")
    shutil.copytree(self.folder, other)
    self.addCleanup(shutil.rmtree, other)
    self.addCleanup(shutil.rmtree, self.folder / "logs" / "compare")
    status, output = self.start("compare", "--op=rms_norm", str(other))
    self.assertEqual(status, 0, output)
    self.assertRegex(output, r"(?m)^\[0\] \.\n\[1\] \.\./other$")
    value = r"\d+\.\d\d us \d+%"
    self.assertRegex(
        output,
        rf"(?m)^rms_norm/8x4/float32/both +\[0\] {value} +\[1\] {value}$",
    )

  def test_benchmarks(self):
    status, output = self.start("bench", "overhead", "--rounds=1")
    self.assertEqual(status, 0, output)
    self.assertIn("ffi_call", output)
    status, output = self.start(
        *("bench", "--lines=rms_norm/4x8/float32,rms_norm/2x8/float32"),
        *("--peers=none", "--rounds=1", "--shard=3/6"),
    )
    self.assertEqual(status, 0, output)
    self.assertRegex(output, r"(?m)^rms_norm +4x8 float32 +both .* ulps\); *$")
    self.assertNotIn("2x8", output)
    self.assertNotIn("forward", output)

  def test_what_is_sanitized_runs(self):
    status, output = self.start("sanitize", "--call-kernels=rms_norm")
    self.assertEqual(status, 0, output)
    self.assertIn("kernels ran on cpu", output)

  def test_everything_is_there(self):
    _, output = self.start("list")
    names = output.split()
    for name in ("ops/rms_norm/rms_norm", "gpu/large", "suite/ops"):
      self.assertIn(name, output)
    for name in names:
      self.assertNotIn("bundle", name)
    for name in ("python/jax_ffi_ops/ops/librms_norm_ext.so", "README.md"):
      self.assertTrue((self.folder / name).exists(), name)

  def test_the_bytes_are_those_of_the_files(self):
    """Neither times nor owners, of the files and of the archive."""
    with tarfile.open(_ARCHIVE) as archive:
      members = archive.getmembers()
    self.assertEqual(
        {(m.mtime, m.uid, m.gid, m.uname, m.mode) for m in members},
        {(0, 0, 0, "", 0o644)},
    )
    names = {m.name for m in members}
    self.assertLen(members, len(names))
    self.assertEqual({n.split("/")[0] for n in names}, {"jax_ffi_ops_bundle"})
    self.assertEqual(_ARCHIVE.read_bytes()[3:8], bytes(5))


if __name__ == "__main__":
  absltest.main()
