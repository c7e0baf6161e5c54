# SPDX-License-Identifier: Apache-2.0
"""`kit.build`: handlers of text, which may be changed and built again."""

import contextlib
import functools
import io
import os
import pathlib
import re
from unittest import mock

from absl.testing import absltest
import jax
import numpy as np
import testing

from jax_ffi_ops import kit
from jax_ffi_ops.kit import toolchain
from jax_ffi_ops.kit.toolchain import compilers

_TEXT = """
#include <stdexcept>

#include "xla_ffi_ops/ffi.h"

namespace ffi = xla::ffi;

xla_ffi_ops::HandlerResult Times(xla_ffi_ops::CpuContext, ffi::AnyBuffer x,
                                 ffi::Result<ffi::AnyBuffer> y) {
  xla_ffi_ops::Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  const float* in = xla_ffi_ops::Data<float>(x);
  float* out = xla_ffi_ops::Data<float>(*y);
  for (int64_t i = 0; i < xla_ffi_ops::Product(checks.loops()); ++i) {
    if (in[i] < 0) throw std::invalid_argument("negative");
    out[i] = FACTOR * in[i];
  }
  return ffi::Error::Success();
}

XLA_FFI_OPS_DEFINE_HANDLER(times_fwd, Times,
                           .Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
"""


def _text(factor):
  return _TEXT.replace("FACTOR", str(factor))


def _build(text, **kwargs):
  return kit.build(text, options=["-O0"], **kwargs)  # Which compiles sooner.


def _op(library):
  return kit.op(
      "times",
      library=library,
      signature="()->()",
      reference=lambda x: 7 * x,  # Another number: what runs is the handler.
  )


class BuildTest(testing.ToolchainTest):

  def test_changed_and_built_again(self):
    x = np.arange(3, dtype=np.float32)
    build = functools.partial(_build, precompiled=True)
    first = _op(build(_text(2)))
    # From here on, the compiler reads the header in its compiled form alone.
    [header] = self.folder.glob("*/header.h")
    header.write_text('#error "read as text"\n')
    second = _op(build(_text(3)))
    again = build(_text(2))
    for op, factor in ((first, 2), (second, 3), (_op(again), 2)):
      np.testing.assert_array_equal(jax.jit(op)(x), factor * x)
    with self.assertRaisesRegex(Exception, "times_fwd: negative"):
      jax.block_until_ready(first(-1 - x))
    with self.assertRaisesRegex(ImportError, "tmies_fwd_cpu"):
      kit.op("tmies", library=again, signature="()->()", reference=abs)
    # What is registered stays where its file is removed and made again.
    os.unlink(again.path)
    made = build(_text(2) + "// new")
    self.assertEqual(made.path, again.path)
    np.testing.assert_array_equal(_op(made)(x), 2 * x)
    np.testing.assert_array_equal(first(x), 2 * x)

  def test_files_and_what_they_include(self):
    file = self.home / "times.cc"
    file.write_text('#include "factor.h"\n' + _TEXT)
    prefixes = set()
    for factor in (4, 5):
      (self.home / "factor.h").write_text(f"#define FACTOR {factor}\n")
      library = _build(file, name="times")
      prefixes.add(library.prefix)
      self.assertEqual(pathlib.Path(library.path).name, "times.so")
      y = _op(library)(np.ones(2, np.float32))
      np.testing.assert_array_equal(y, [factor] * 2)
    self.assertLen(prefixes, 2)

  def test_key_has_headers(self):
    with mock.patch.object(toolchain, "shared_object") as make:
      make.side_effect = toolchain.Failed

      def called(*names):
        with self.assertRaises(toolchain.Failed):
          kit.build([self.home / name for name in names])
        return make.call_args.kwargs

      (self.home / "times.cc").touch()
      keys = {called("times.cc")["key"]}
      for number, name in enumerate(("a.h", "b.hxx", "c/d.tcc")):
        (self.home / name).parent.mkdir(exist_ok=True)
        (self.home / name).write_text("// 1")
        keys.add(called("times.cc")["key"])
        self.assertLen(keys, number + 2, name)
      # An editor's lock, and a folder.
      (self.home / ".#a.h").symlink_to("nowhere")
      (self.home / "vendored.h").mkdir()
      self.assertIn(called("times.cc")["key"], keys)

  def test_folders_are_in_the_order_of_files(self):
    """Of two headers with one name, the first is found, in each process."""
    names = [str(number) for number in (3, 1, 4, 1, 5, 9, 2, 6)]
    for name in names:
      (self.home / name).mkdir(exist_ok=True)
      (self.home / name / "own.cc").touch()
    with mock.patch.object(toolchain, "shared_object") as make:
      make.side_effect = toolchain.Failed
      with self.assertRaises(toolchain.Failed):
        kit.build([self.home / name / "own.cc" for name in names])
    found = [
        os.path.relpath(x, self.home) for x in make.call_args.kwargs["includes"]
    ]
    self.assertEqual(found[2:], list(dict.fromkeys(names)))

  def test_mistake(self):
    with self.assertRaisesRegex(toolchain.Failed, "FACTOR"):
      _build(_TEXT)

  def test_page(self):
    """The program of docs/authoring.md, on the machine's own terms."""
    page = pathlib.Path("docs/authoring.md").read_text("utf-8")
    section = page.split("## Without a build\n")[1].split("\n## ")[0]
    [program] = re.findall(r"(?s)```python\n(.*?)```", section)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      exec(program, {"__name__": "page"})
    self.assertEqual(output.getvalue(), "[0. 2. 4.]\n")
    sources = pathlib.Path(toolchain.__file__).parent.glob("*.py")
    text = "".join(source.read_text("utf-8") for source in sources)
    names = set(re.findall('"(JAX_FFI_OPS_[A-Z_]+)"', text))
    self.assertEqual(set(re.findall("`(JAX_FFI_OPS_[A-Z_]+)`", section)), names)

  def test_zig(self):
    fake = mock.Mock(is_zig=True)
    fake.name = "zig"
    with mock.patch.object(compilers, "compiler", lambda: fake):
      with self.assertRaisesRegex(toolchain.Unavailable, "needs g.*, not zig"):
        _build(_text(2))


if __name__ == "__main__":
  absltest.main()
