# SPDX-License-Identifier: Apache-2.0
"""The program that writes wheels: what it makes, and what it refuses."""

import pathlib
from unittest import mock
import zipfile

from absl.testing import absltest
import symbol_versions
import write_wheel

import jax_ffi_ops

_OBJECT = pathlib.Path(jax_ffi_ops.__file__).parent / "ops/libsoftmax_ext.so"


class WriteWheelTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir())

  def write(self, name="one.whl", **changed):
    """Returns the bytes of a wheel."""
    for file in ("LICENSE", "README.md", "a.py", "b.py"):
      (self.folder / file).write_text(f"text of {file}\n" * 100)
    plan = {
        "classifiers": [],
        "distribution": "my-ops",
        "extras": {},
        "file_name": "my_ops-1.0",
        "files": {n: self.folder / n for n in ("a.py", "b.py")},
        "glibc": "2.34",
        "label": "//my:wheel",
        "licenses": {"LICENSE": self.folder / "LICENSE"},
        "license_expression": "MIT",
        "object_kb": 1000,
        "readme": self.folder / "README.md",
        "requires": [],
        "requires_python": ">=3.11",
        "summary": "Ops",
        "tag": "py3-none-manylinux_2_34_x86_64",
        "version": "1.0",
        "wheel_kb": 1000,
    }
    path = self.folder / name
    write_wheel.write(plan | changed, str(path))
    return path.read_bytes()

  def test_same_bytes(self):
    files = {n: self.folder / n for n in ("b.py", "a.py")}
    self.assertEqual(self.write(), self.write("two.whl", files=files))

  def test_licenses(self):
    files = {"LICENSE": "LICENSE", "LICENSE.other": "a.py"}
    self.write(licenses={n: self.folder / f for n, f in files.items()})
    with zipfile.ZipFile(self.folder / "one.whl") as wheel:
      metadata = wheel.read("my_ops-1.0.dist-info/METADATA").decode()
      for name, file in files.items():
        self.assertIn(f"\nLicense-File: {name}\n", metadata)
        found = wheel.read(f"my_ops-1.0.dist-info/licenses/{name}")
        self.assertEqual(found, (self.folder / file).read_bytes())

  def test_links_of_the_readme(self):
    readme = (
        "[a](b.md) [two\nwords](c/d.md#e) [f](#g) [h](https://i.j)\n"
        "```python\nk[l](m)\n```\n[n](o)![p](q.svg)\n"
    )
    self.write()
    (self.folder / "linked.md").write_text(readme)
    self.write(readme=self.folder / "linked.md")
    with zipfile.ZipFile(self.folder / "one.whl") as wheel:
      metadata = wheel.read("my_ops-1.0.dist-info/METADATA").decode()
    self.assertEndsWith(
        metadata,
        "\n\na two\nwords [f](#g) [h](https://i.j)\n"
        "```python\nk[l](m)\n```\nn\n",
    )

  def test_without_files(self):
    with self.assertRaisesRegex(SystemExit, "//my:wheel would be empty: none"):
      self.write(files={})
    self.assertFalse((self.folder / "one.whl").exists())

  def test_budgets(self):
    files = {"lib.so": _OBJECT}
    self.assertNotEmpty(self.write(files=files))
    with self.assertRaisesRegex(SystemExit, "lib.so has .* budget 1"):
      self.write(files=files, object_kb=1)
    with self.assertRaisesRegex(SystemExit, "the wheel has .* budget 1"):
      self.write(files=files, wheel_kb=1)

  def test_object_that_needs_more(self):
    for kind, version in (("GLIBC", (2, 13)), ("GLIBCXX", (3, 4, 8))):
      allowed = symbol_versions._ALLOWED["2.34"] | {kind: version}
      with mock.patch.dict(symbol_versions._ALLOWED, {"2.34": allowed}):
        with self.assertRaisesRegex(
            SystemExit, rf"lib.so is not for .*: \w+ has the version {kind}_"
        ):
          self.write(files={"lib.so": _OBJECT})

  def test_object_that_needs_another_library(self):
    with mock.patch.object(symbol_versions, "_LIBRARIES", {"libc.so.6"}):
      with self.assertRaisesRegex(SystemExit, r"needs libstdc\+\+\.so\.6"):
        self.write(files={"lib.so": _OBJECT})

  def test_what_is_no_object(self):
    with self.assertRaisesRegex(ValueError, "not a 64-bit"):
      self.write(files={"lib.so": self.folder / "a.py"})


if __name__ == "__main__":
  absltest.main()
