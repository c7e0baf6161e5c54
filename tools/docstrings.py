# SPDX-License-Identifier: Apache-2.0
"""Reads docstrings in Google's style, and writes them as Markdown."""

from collections.abc import Sequence
import inspect
import re
import textwrap

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises):\n", re.M)
_CODE = re.compile(r"(?<=\n\n)((?:  .*\n?|\n(?=  ))+)")


def parse(docstring: str) -> tuple[str, dict[str, str]]:
  """Returns the text of a docstring, and its sections by their titles."""
  text, *rest = _SECTION.split(inspect.cleandoc(docstring))
  sections = dict(zip(rest[::2], map(textwrap.dedent, rest[1::2])))
  return markdown(text.strip()), sections


def markdown(text: str) -> str:
  """Returns the text with what is indented as a block of code."""
  return _CODE.sub(
      lambda m: f"```python\n{textwrap.dedent(m[1]).rstrip()}\n```\n", text
  )


def entries(section: str) -> dict[str, str]:
  """Returns the names that a section explains, with one line for each."""
  _, *rest = re.split(r"^(\S+): ", section, flags=re.M)
  return dict(zip(rest[::2], (" ".join(x.split()) for x in rest[1::2])))


def comment_above(lines: Sequence[str], number: int) -> str:
  """Returns the comment that ends right above a line, which is the number-th."""
  first = number - 1
  while first and lines[first - 1].startswith("#"):
    first -= 1
  comment = (line[1:].strip() for line in lines[first : number - 1])
  return " ".join(x for x in comment if not x.startswith("SPDX"))
