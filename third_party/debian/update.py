# SPDX-License-Identifier: Apache-2.0
"""Locks Debian packages: rewrites `NAME.lock` beside each `NAME.in`.

  bazel run //third_party/debian:update

Takes the packages that the machine's mirror has now. Needs apt, which checks
the archive's signature. A lock whose packages are still the newest stays.
"""

import os
import pathlib
import re
import subprocess
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


def main() -> None:
  folder = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
  folder /= "third_party/debian"
  files = {wanted: _names(wanted) for wanted in sorted(folder.glob("*.in"))}
  suites = {
      name.partition("/")[2] for names in files.values() for name in names
  }
  # The archive of snapshots has what the mirror has had.
  now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
  with tempfile.TemporaryDirectory() as apt:
    subprocess.check_call(
        ["bash", "-ec", '. "$0"; private_apt "$@"', str(folder / "apt.sh")]
        + [apt, "amd64", *sorted(suites)]
    )
    for wanted, names in files.items():
      uris = subprocess.check_output(
          ["apt-get", "-c", f"{apt}/apt.conf", "download", "--print-uris"]
          + names,
          text=True,
      )
      lines = [
          f"{sha256} {urllib.parse.unquote(path)}\n"
          for path, sha256 in sorted(_URI.findall(uris))
      ]
      if len(lines) != len(names):
        raise ValueError(f"{wanted}: {len(names)} packages, but apt has {uris}")
      lock = wanted.with_suffix(".lock")
      body = "".join(lines)
      if not lock.exists() or not lock.read_text("utf-8").endswith(
          f"Z\n{body}"
      ):
        lock.write_text(f"{_HEADER}snapshot {now}\n{body}", "utf-8")


if __name__ == "__main__":
  main()
