# SPDX-License-Identifier: Apache-2.0
"""Writes files: formatted, all or none of them, and over no other."""

from collections.abc import Callable, Mapping
import os
import pathlib
import subprocess
import sys


class Formatter:
  """Formats texts as //tools:format does files.

  Attributes:
    clang_format: path of the program.
    style: path of its configuration.
    config: path of the pyproject.toml that configures pyink.
  """

  def __init__(self, clang_format: str, style: str, config: str):
    self._cpp = [clang_format, f"--style=file:{style}"]
    self._python = [sys.executable, "-m", "pyink", "-q", f"--config={config}"]

  def __call__(self, path: pathlib.PurePath, text: str) -> str:
    if path.suffix in (".cc", ".h"):
      command = [*self._cpp, f"--assume-filename={path.name}"]
    elif path.suffix == ".py":
      command = [*self._python, "-"]
    else:
      return text
    return subprocess.run(
        command, input=text, stdout=subprocess.PIPE, check=True, text=True
    ).stdout


def formatted(
    files: Mapping[pathlib.PurePath, str], formatter: Callable[..., str]
) -> dict[pathlib.PurePath, str]:
  return {path: formatter(path, text) for path, text in files.items()}


def write(
    root: pathlib.Path,
    new: Mapping[pathlib.PurePath, str],
    edited: Mapping[pathlib.PurePath, str],
) -> None:
  """Writes files below `root`; after an error they are as they were.

  Raises:
    FileExistsError: one of the new files is there, whatever it is.
  """
  for path in new:
    if os.path.lexists(root / path):
      raise FileExistsError(f"{path} is there already.")
  undo = []
  try:
    for path, text in new.items():
      _make_folders(root / path, undo)
      with open(root / path, "x", encoding="utf-8") as file:
        undo.append((root / path).unlink)
        file.write(text)
    for path, text in edited.items():
      old = (root / path).read_bytes()
      undo.append(lambda path=root / path, old=old: path.write_bytes(old))
      (root / path).write_text(text, "utf-8")
  except BaseException:
    for step in reversed(undo):
      step()
    raise


def _make_folders(path, undo):
  for folder in reversed(path.parents):
    if not folder.exists():
      folder.mkdir()
      undo.append(folder.rmdir)
