# SPDX-License-Identifier: Apache-2.0
"""The texts of an op's files: templates, and what takes their placeholders."""

from collections.abc import Mapping
import pathlib
import string
import textwrap

import cpp_code
import entries
import python_code
from spec import Op

_TEMPLATES = pathlib.Path(__file__).with_name("templates")


def values(op: Op) -> dict[str, str]:
  """Returns the values of placeholders that are the same in both layouts."""
  operands, results = python_code.shapes(op)
  several = len(op.results) > 1
  return dict(
      binding=cpp_code.binding(op),
      case=python_code.case(op),
      class_name="".join(word.title() for word in op.name.split("_")),
      computed=python_code.computed(op),
      definition=python_code.definition(op),
      dims=cpp_code.dims(op),
      docstring_formulas="\n".join(map(_wrapped, op.formulas)),
      dtypes=python_code.dtypes(op),
      first=next(iter(op.cores)),
      loops=cpp_code.loops(op),
      name=op.name,
      operand_shapes=operands,
      operands=", ".join(op.cores),
      result_shapes=results,
      returns="tuple[jax.Array, ...]" if several else "jax.Array",
      signature=op.signature,
      typed_operands=", ".join(f"{x}: jax.Array" for x in op.cores),
      widened=python_code.widened(op, "kit.accumulator(dtype)"),
      **python_code.of_benchmark(op),
  )


def _wrapped(formula):
  return textwrap.fill(
      formula,
      80,
      initial_indent="    ",
      subsequent_indent="        ",
      break_long_words=False,
  )


def imports(op: Op, own: str) -> str:
  """Returns what a test imports of our modules; `own` is of the op's."""
  lines = ["from jax_ffi_ops.kit import testing", own]
  lines += [
      f"from jax_ffi_ops.kit.testing import {name}"
      for name in ("Bounded", "Case", "Operand")
      if name != "Bounded" or "Bounded(" in python_code.definition(op)
  ]
  return "\n".join(
      sorted(lines, key=lambda line: entries.natural(line.split()[1]))
  )


def fill(op: Op, template: str, values: Mapping[str, str]) -> str:
  """Returns the text of a file; what it imports is what it uses."""
  kit = values["kit"]
  values = values | dict(
      checks=cpp_code.checks(op, kit),
      cpp_formulas="\n".join(
          cpp_code.formula(op, y, values["header_kit"]) for y in op.results
      ),
      import_jnp="import jax.numpy as jnp\n" * ("jnp." in values["computed"]),
      import_np="import numpy as np\n" * ("np." in values["definition"]),
      handler=cpp_code.signature(op, kit),
      sizes=cpp_code.sizes(op, kit),
      views=cpp_code.views(op, kit),
  )
  text = (_TEMPLATES / f"{template}.template").read_text("utf-8")
  return string.Template(text).substitute(values)
