# SPDX-License-Identifier: Apache-2.0
"""The wheel that Bazel builds: what is in it, and what it says of itself."""

import base64
import csv
import email.parser
import hashlib
import os
import pathlib
import re
import zipfile

from absl.testing import absltest
import symbol_versions

_WHEEL = pathlib.Path(os.environ["WHEEL"])
_OPS = ("add_rms_norm", "layer_norm", "rms_norm", "softmax")
_HAS_CUDA = "HAS_CUDA" in os.environ
_TAG = f"py3-none-manylinux_{os.environ['GLIBC']}_x86_64"


class WheelTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.wheel = self.enter_context(zipfile.ZipFile(_WHEEL))
    self.info = _WHEEL.name.removesuffix(f"-{_TAG}.whl") + ".dist-info"

  def told(self, name):
    """Returns the headers of a file of the wheel's .dist-info."""
    text = self.wheel.read(f"{self.info}/{name}").decode()
    return email.parser.Parser().parsestr(text)

  def test_files(self):
    names = self.wheel.namelist()
    self.assertContainsSubset(
        [
            "jax_ffi_ops/__init__.py",
            "jax_ffi_ops/doctor/__main__.py",
            "jax_ffi_ops/kit/__init__.py",
            "jax_ffi_ops/kit/cpp/include/xla_ffi_ops/ffi.h",
            "jax_ffi_ops/kit/cpp/libxla_ffi_ops.a",
            "jax_ffi_ops/kit/testing/__init__.py",
            "jax_ffi_ops/linalg/__init__.py",
            "jax_ffi_ops/linalg/liblinalg_ext.so",
            "jax_ffi_ops/random/__init__.py",
            "jax_ffi_ops/random/librandom_ext.so",
            "jax_ffi_ops/py.typed",
            *(f"jax_ffi_ops/ops/{op}.py" for op in _OPS),
            *(f"jax_ffi_ops/ops/lib{op}_ext.so" for op in _OPS),
        ],
        names,
    )
    python = r"jax_ffi_ops/.*\.(py|so|typed)$"
    cpp = r"jax_ffi_ops/.*/(include/xla_ffi_ops/.*\.h|libxla_ffi_ops\.a)$"
    for name in names:
      self.assertRegex(name, f"^({python}|{cpp}|{re.escape(self.info)}/)")

  def test_record(self):
    """It has each file, but for itself with its hash and size."""
    record = self.wheel.read(f"{self.info}/RECORD").decode()
    lines = list(csv.reader(record.splitlines()))
    self.assertEqual([name for name, *_ in lines], self.wheel.namelist())
    for name, digest, size in lines[:-1]:
      content = self.wheel.read(name)
      found = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
      self.assertEqual(digest, "sha256=" + found.decode().rstrip("="))
      self.assertEqual(int(size), len(content))
    self.assertEqual(lines[-1][1:], ["", ""])

  def test_metadata(self):
    told = self.told("METADATA")
    self.assertEqual(told["Name"], "xla-ffi-ops")
    self.assertEqual(told["License-Expression"], "Apache-2.0 AND BSD-3-Clause")
    self.assertEqual(told["Requires-Python"], ">=3.11")
    self.assertEqual(
        told.get_all("Requires-Dist"),
        [
            "jax>=0.9.2",
            "jaxlib>=0.9.2",
            "numpy",
            'ziglang ; extra == "compiler"',
            'absl-py ; extra == "testing"',
        ],
    )
    # Links to files of the repository are left out, pictures, and nothing else.
    readme = pathlib.Path("README.md").read_text("utf-8")
    described = told.get_payload()
    self.assertNotRegex(described, r"\]\((docs|examples|tests|xla_ffi_ops)/")
    readme = re.sub(r"!\[[^\]]*\]\(docs/[\w./]+\)", "", readme)
    link = re.compile(r"\[([^\]]*)\]\([\w./#-]+\)")
    self.assertEqual(described, link.sub(r"\1", readme))
    self.assertEqual(
        self.wheel.read(f"{self.info}/licenses/LICENSE"),
        pathlib.Path("LICENSE").read_bytes(),
    )

  def test_version_is_that_of_the_module(self):
    module = pathlib.Path("MODULE.bazel").read_text("utf-8")
    (version,) = re.findall(r"(?m)^    version = \"(.*)\",$", module)
    own, _, variant = self.told("METADATA")["Version"].partition("+")
    self.assertEqual(own, version)
    library = self.wheel.read("jax_ffi_ops/ops/librms_norm_ext.so")
    self.assertEqual(variant == "cuda", b"rms_norm_fwd_cuda\0" in library)

  def test_tag(self):
    told = self.told("WHEEL")
    self.assertEqual(told["Tag"], _TAG)
    self.assertEqual(told["Root-Is-Purelib"], "false")

  def test_old_symbols(self):
    """The hermetic wheel, which fewer runs build, is for RHEL 8."""
    # The compiler of the hermetic wheel is older.
    of_gcc = re.compile("_Z|__libc_single_threaded ")
    # The static CUDA runtime takes threads from glibc, as new as the build's.
    most = os.environ["GLIBC"].replace("_", ".") if _HAS_CUDA else "2.28"
    for name in self.wheel.namelist():
      if name.endswith(".so"):
        found = symbol_versions.problems(self.wheel.read(name), most)
        self.assertEqual([x for x in found if not of_gcc.match(x)], [], name)

  def test_nothing_of_the_machine(self):
    """Neither times nor modes nor folders of the build."""
    for entry in self.wheel.infolist():
      self.assertEqual(entry.date_time, (1980, 1, 1, 0, 0, 0))
      self.assertEqual(entry.external_attr >> 16, 0o100644)
      content = self.wheel.read(entry)
      for folder in (b"/execroot/", b"/sandbox/", b"/home/", b"/root/"):
        self.assertFalse(folder in content, (entry.filename, folder))

  def test_objects_are_stripped(self):
    for op in _OPS:
      content = self.wheel.read(f"jax_ffi_ops/ops/lib{op}_ext.so")
      self.assertFalse(b"\0.symtab\0" in content, op)


if __name__ == "__main__":
  absltest.main()
