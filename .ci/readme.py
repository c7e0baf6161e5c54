# SPDX-License-Identifier: Apache-2.0
"""Does what the documents say.

  readme.py commands FILE.md ...   runs the commands of their sh blocks
  readme.py quotes FILE.md ...     finds their quotations in the files they name
  readme.py consumer FILE.md       makes its files in a new workspace, and runs
                                   its program there, with and without modules

A block is a file if the line above it is `NAME`: and nothing else. It is a
quotation if the line above it ends in [NAME](PATH): with a path in this tree.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

_MODES = (
    ("--noenable_bzlmod",),
    ("--enable_bzlmod", "--noenable_workspace"),
)
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(
    r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_QUOTATION = re.compile(
    r"\[[^\]]+\]\(([^)]+)\):\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_PRINTS = re.compile(
    r"^`bazel run (\S+)` prints\n\n```text\n(.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


def run_commands(text):
  """Runs each line of a document's sh blocks in the workspace."""
  for block in _COMMANDS.findall(text):
    for command in block.splitlines():
      print(f"$ {command}", flush=True)
      if subprocess.run(["bash", "-c", command], cwd=_ROOT).returncode:
        sys.exit(f"readme: this failed: {command}")


def find_quotations(document, text):
  """Finds each quotation, and every file that a document refers to."""
  folder = document.parent
  for path, quotation in _QUOTATION.findall(text):
    if quotation not in (folder / path).read_text("utf-8"):
      sys.exit(f"readme: this is not in {path}:\n{quotation}")
  prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
  for path in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
    if "://" not in path and not (folder / path).exists():
      sys.exit(f"readme: {document} refers to {path}, which is not there")


def run_consumer(text, folder):
  """Makes a workspace of a document's files; compares what it prints."""
  (folder / "xla_ffi_ops").symlink_to(_ROOT)
  workspace = folder / "my_project"
  workspace.mkdir()
  for name, content in _FILE.findall(text):
    (workspace / name).write_text(content, "utf-8")
  ((target, expected),) = _PRINTS.findall(text)
  for mode in _MODES:
    bazel = [_ROOT / "bazelw", f"--output_base={folder / 'output'}"]
    try:
      printed = subprocess.run(
          [*bazel, "run", *mode, target],
          cwd=workspace,
          check=True,
          stdout=subprocess.PIPE,
          text=True,
      ).stdout
    finally:
      subprocess.run([*bazel, "shutdown"], cwd=workspace, check=True)
    if printed != expected:
      sys.exit(f"{mode}: {target} printed\n{printed}and not\n{expected}")


def main():
  """Does what the first argument says with the documents that follow."""
  what, *names = sys.argv[1:]
  texts = [(_ROOT / name).read_text("utf-8") for name in names]
  if what == "commands":
    for text in texts:
      run_commands(text)
  elif what == "quotes":
    for name, text in zip(names, texts):
      find_quotations(_ROOT / name, text)
  elif what == "consumer":
    (text,) = texts
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
    try:
      run_consumer(text, folder)
    finally:
      subprocess.run(["chmod", "-R", "u+w", folder], check=True)
      shutil.rmtree(folder)
  else:
    sys.exit(__doc__)


if __name__ == "__main__":
  main()
