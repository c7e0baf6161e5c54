# SPDX-License-Identifier: Apache-2.0
"""Why there is no shared object."""


class Unavailable(Exception):
  """Nothing can be compiled here: no compiler, no folder, or it is forbidden."""


class Failed(Exception):
  """The compiler refused a text, crashed on it, or took too much."""
