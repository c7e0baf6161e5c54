# SPDX-License-Identifier: Apache-2.0
"""How compile_commands.py rewrites Bazel's actions."""

from absl.testing import absltest
from absl.testing import parameterized

import compile_commands

_PLACES = {
    "workspace": "/ws",
    "output_base": "/base",
    "execution_root": "/base/execroot/ws",
}


def _action(*arguments):
  return {"mnemonic": "CppCompile", "arguments": arguments}


class AbsoluteTest(parameterized.TestCase):

  @parameterized.parameters(
      ("external/a/include", "/base/external/a/include"),
      ("-Iexternal/a/include", "-I/base/external/a/include"),
      ("-isystemexternal/a", "-isystem/base/external/a"),
      ("bazel-out/k8-opt/bin", "/base/execroot/ws/bazel-out/k8-opt/bin"),
      (
          "bazel-out/k8-opt/bin/external/a",
          "/base/execroot/ws/bazel-out/k8-opt/bin/external/a",
      ),
      (".", "."),
      ("xla_ffi_ops/ffi.cc", "xla_ffi_ops/ffi.cc"),
      ("my_external/a.cc", "my_external/a.cc"),
      ("-Imy/external/a", "-Imy/external/a"),
      ("-DPATH=external/a", "-DPATH=external/a"),
      ("/usr/external/a", "/usr/external/a"),
  )
  def test_absolute(self, argument, expected):
    self.assertEqual(
        compile_commands.absolute(argument, "/base", "/base/execroot/ws"),
        expected,
    )


class EntriesTest(parameterized.TestCase):

  def test_entry(self):
    action = _action(
        "/usr/bin/gcc",
        "-MD",
        *("-MF", "bazel-out/a.d"),
        "-fno-canonical-system-headers",
        *("-isystem", "external/a/include"),
        *("-c", "lib/a.cc"),
        *("-o", "bazel-out/a.o"),
    )
    include = "/base/external/a/include"
    self.assertEqual(
        compile_commands.entry(action, **_PLACES),
        {
            "directory": "/ws",
            "file": "lib/a.cc",
            "arguments": [
                "/usr/bin/gcc",
                "-isystem",
                include,
                "-c",
                "lib/a.cc",
            ],
        },
    )

  def test_generated_source(self):
    entry = compile_commands.entry(
        _action("gcc", "-c", "bazel-out/a.cc"), **_PLACES
    )
    self.assertEqual(entry["file"], "/base/execroot/ws/bazel-out/a.cc")

  def test_first_of_each_source_in_order(self):
    actions = [
        _action("gcc", "-c", "b.cc"),
        _action("gcc", "-O3", "-c", "a.cc"),
        _action("gcc", "-c", "a.cc"),
    ]
    found = compile_commands.entries(actions, **_PLACES)
    self.assertEqual(
        [entry["arguments"] for entry in found],
        [["gcc", "-O3", "-c", "a.cc"], ["gcc", "-c", "b.cc"]],
    )


if __name__ == "__main__":
  absltest.main()
