# SPDX-License-Identifier: Apache-2.0
"""Options of the programs that measure lines."""

import argparse
from collections.abc import Sequence
import fnmatch
from typing import TypeVar

T = TypeVar("T")


def names(text: str) -> list[str]:
  """Returns what commas separate."""
  return text.split(",")


def parser(description: str | None, rounds: int) -> argparse.ArgumentParser:
  """Returns the parser of what they all have; `rounds` is the default."""
  made = argparse.ArgumentParser(
      description=description,
      formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  made.add_argument("--lines", type=names, default=["*"], help="see above")
  made.add_argument("--rounds", type=int, default=rounds, help="of samples")
  made.add_argument("--shard", default="1/1", help="I/N: every N-th line")
  made.add_argument(
      "--at-any-speed", action="store_true",
      help="run handlers also where the op would run its definition",
  )  # fmt: skip
  made.add_argument(
      "--cpu-time", action="store_true",
      help="of all threads, in place of time: for a machine that is busy",
  )  # fmt: skip
  return made


def fits(line: str, pattern: str) -> bool:
  """Returns whether all parts of a pattern fit; missing ones stand for all."""
  return all(map(fnmatch.fnmatch, line.split("/"), pattern.split("/")))


def shard(lines: Sequence[T], part: str) -> Sequence[T]:
  """Returns the lines of a --shard."""
  own, parts = map(int, part.split("/"))
  return lines[own - 1 :: parts]
