# SPDX-License-Identifier: Apache-2.0
"""What is said of a function that cannot be compiled."""


class Unsupported(Exception):
  """What a function has that the compiler does not know.

  It is raised with the bare fact; whoever knows an equation, a function or a
  core adds where that is.
  """

  def __init__(self, what: str, where: str | None = None):
    super().__init__(f"{where}: {what}" if where else what)
    self.what = what
    self.where = where
