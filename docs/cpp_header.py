# SPDX-License-Identifier: Apache-2.0
"""The public part of a C++ header, as the site shows it.

It relies on the layout that the formatter makes. Tools that read C++ were no
choice: Doxygen with Breathe is a program that no wheel has, and Hawkmoth reads
neither `//` comments nor namespaces.
"""

import re

_MACRO = re.compile(
    r"#\s*define (XLA_FFI_OPS_\w*[A-GI-Z0-9])((?:\([^)]*\))?)(?!\w)"
)
_RULES = (
    # What is inside of other namespaces.
    (r"(?ms)^namespace (?!xla_ffi_ops )[^\n]* {$.*?^}  // namespace .*?$", ""),
    (r"(?m)^(namespace xla_ffi_ops {|}  // namespace xla_ffi_ops)$", ""),
    (r"(?ms)^ private:\n.*?(?=^};)", ""),
    # The bodies of functions, and of those in classes. A class ends with "};".
    (r"(?m)^((?!//).*) {$(\n(?!}).*)*\n}$", r"\1;"),
    (r"(?m)^((?! *//) .*) {$(\n(?!  }|}).*)*\n  }$", r"\1;"),
    (r"(?m)^// SPDX.*\n", ""),
    (r"\n{3,}", "\n\n"),
    (r"\n\n};", "\n};"),
)


def _kept(directive: re.Match) -> str:
  """Returns what stays of a directive: the name of a public macro."""
  found = _MACRO.match(directive[0])
  return f"#define {found[1]}{found[2]}" if found else ""


def public(text: str) -> str:
  """Returns comments and declarations of a header."""
  text = re.sub(r"(?m)^ *#(?:.*\\\n)*.*$", _kept, text)
  for pattern, replacement in _RULES:
    text = re.sub(pattern, replacement, text)
  return text.strip() + "\n"
