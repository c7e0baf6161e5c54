# SPDX-License-Identifier: Apache-2.0
"""Serves the site on this machine: `bazel run //docs:serve [-- PORT]`."""

import functools
from http import server
import pathlib
import sys

_SITE = pathlib.Path(__file__).with_name("site")


def main() -> None:
  port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
  handler = functools.partial(
      server.SimpleHTTPRequestHandler, directory=str(_SITE)
  )
  with server.ThreadingHTTPServer(("127.0.0.1", port), handler) as running:
    print(f"http://127.0.0.1:{running.server_port}/", flush=True)
    running.serve_forever()


if __name__ == "__main__":
  main()
