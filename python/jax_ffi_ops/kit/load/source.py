# SPDX-License-Identifier: Apache-2.0
"""Where the handlers of ops come from: a file (library.py), or a compiler."""

from typing import Any

from jax_ffi_ops.kit.load.cores import Cores


class Source:
  """What an op asks of it.

  Attributes:
    path: of the shared object; nothing if there is none yet.
    prefix: the first part of the names of its targets.
  """

  path: str = ""
  prefix: str = ""

  def declare(self, target: str, *, required: bool = True) -> frozenset[str]:
    """Returns the platforms of a target of an op that is being declared."""
    raise NotImplementedError

  def ready(self, received: Any, exported: bool) -> str | None:
    """Returns the target of a call, which is registered from now on.

    A program with the call is being lowered.

    Args:
      received: what the handler will receive (kit/calls/base.py).
      exported: whether the program is for other processes, too.

    Returns:
      None if there is no handler after all: `cores` says why from now on.
    """
    raise NotImplementedError

  def cores(self, op: str) -> Cores | None:
    """Returns what an op was compiled for; None if its handlers take any core.

    Args:
      op: its name, with the prefix.
    """
    raise NotImplementedError

  def exported(self, target: str) -> str:
    """Returns what an exported program calls a target."""
    return target

  def unread(self) -> frozenset[str]:
    """Returns the operands that the backward handler gets and does not read."""
    return frozenset()
