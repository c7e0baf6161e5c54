# SPDX-License-Identifier: Apache-2.0
"""Locks Debian packages: rewrites `NAME.lock` beside each `NAME.in`.

  bazel run //third_party/debian:update

Takes the packages that the machine's mirror has now. Needs apt, which checks
the archive's signature. A lock stays if its packages are still the newest, or
if the mirror no longer has their suite.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

_HEADER = "# bazel run //third_party/debian:update\n"
_URI = re.compile(r"'.*?/(pool/.*?)' \S+ \d+ SHA256:(\w{64})")


def _names(wanted):
  """Returns the packages of an .in file, each with its suite."""
  return [
      line
      for line in wanted.read_text("utf-8").split("\n")
      if line and not line.startswith("#")
  ]


def _packages(wanted, apt_sh, apt):
  """Returns a line for each package that an .in file names, or None."""
  names = _names(wanted)
  suites = sorted({name.partition("/")[2] for name in names})
  command = ["bash", "-ec", '. "$0"; private_apt "$@"', apt_sh]
  if subprocess.run([*command, apt, "amd64", *suites], check=False).returncode:
    return None
  uris = subprocess.check_output(
      ["apt-get", "-c", f"{apt}/apt.conf", "download", "--print-uris", *names],
      text=True,
  )
  lines = [
      f"{sha256} {urllib.parse.unquote(path)}\n"
      for path, sha256 in sorted(_URI.findall(uris))
  ]
  if len(lines) != len(names):
    raise ValueError(f"{wanted}: {len(names)} packages, but apt has {uris}")
  return lines


def main() -> None:
  if not shutil.which("apt-get"):
    sys.exit("update: there is no apt; run it on a Debian.")
  folder = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  folder /= "third_party/debian"
  # The archive of snapshots has what the mirror has had.
  now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
  for wanted in sorted(folder.glob("*.in")):
    lock = wanted.with_suffix(".lock")
    with tempfile.TemporaryDirectory() as apt:
      lines = _packages(wanted, folder / "apt.sh", apt)
    if lines is None:
      print(f"{lock.name} stays: the mirror has no suite for it")
      continue
    body = "".join(lines)
    if not lock.exists() or not lock.read_text("utf-8").endswith(f"Z\n{body}"):
      lock.write_text(f"{_HEADER}snapshot {now}\n{body}", "utf-8")


if __name__ == "__main__":
  main()
