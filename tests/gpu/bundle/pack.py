# SPDX-License-Identifier: Apache-2.0
"""Packs files into a .tar.gz whose bytes depend on nothing else.

  pack.py ARCHIVE NAME=PATH ...

`@FILE` stands for the lines of a file.
"""

import argparse
import gzip
import io
import pathlib
import tarfile

_ROOT = "jax_ffi_ops_bundle"


def pack(files: dict[str, bytes]) -> bytes:
  """Returns the archive of files with these names and contents."""
  packed = io.BytesIO()
  # Neither the time nor a file's name into the header.
  with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as compressed:
    with tarfile.open(
        fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT
    ) as archive:
      for name, content in sorted(files.items()):
        info = tarfile.TarInfo(f"{_ROOT}/{name}")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
  return packed.getvalue()


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, fromfile_prefix_chars="@"
  )
  parser.add_argument("archive", type=pathlib.Path)
  parser.add_argument("files", nargs="+")
  options = parser.parse_args()
  paths = dict(file.split("=", 1) for file in options.files)
  files = {
      name: pathlib.Path(path).read_bytes() for name, path in paths.items()
  }
  options.archive.write_bytes(pack(files))


if __name__ == "__main__":
  main()
