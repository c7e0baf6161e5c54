# SPDX-License-Identifier: Apache-2.0
"""C++ text without its comments, which do not change what is compiled."""

import re

# What is kept comes before the comments: a literal may have "//" in it, and a
# number may have "'".
_TOKENS = re.compile(
    r"""
    (?P<kept>
      \b(?:u8|[uUL])?R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"
      | ^[ \t]*\#[ \t]*include[ \t]*<[^>\n]*>
      | "(?:\\.|[^"\\\n])*"
      | \b\d(?:'?[\w.])*
      | '(?:\\.|[^'\\\n])+'
    )
    | (?P<line>[ \t]*//(?:\\.|[^\\\n])*)
    | /\*.*?\*/
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def without_comments(text: str) -> str:
  """Returns the text without them; all lines stay where they are."""
  return _TOKENS.sub(_replacement, text)


def _replacement(match):
  between = "" if match["line"] else " "
  return match["kept"] or between + "\n" * match[0].count("\n")
