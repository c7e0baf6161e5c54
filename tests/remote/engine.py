# SPDX-License-Identifier: Apache-2.0
"""BuildGrid on PostgreSQL, for tests alone: engine.py INITDB POSTGRES FOLDER PORT

One machine, no authentication. All that it has is in FOLDER: started again
there, it goes on. bot.py runs the actions; without one it is a cache.
"""

import pathlib
import string
import subprocess
import sys
import time

from buildgrid.server.app import cli
import psycopg2

# PostgreSQL refuses to be root.
_USER = "unshare --user --map-user=1000 --map-group=1000".split()
_CONFIG = pathlib.Path(__file__).with_name("bgd.yml")


def _database(initdb, postgres, folder):
  """Starts PostgreSQL, which listens in `folder` alone; returns its URI."""
  data = folder / "database"
  if not data.exists():
    options = ("--username=postgres", "--auth=trust", "--no-sync")
    subprocess.run([*_USER, initdb, *options, data], check=True)
  command = [*_USER, postgres, "-FD", data, "-k", folder, "-h", ""]
  server = subprocess.Popen(command)
  address = f"://postgres@/postgres?host={folder}"
  last = time.monotonic() + 30
  while True:
    try:
      psycopg2.connect(f"postgresql{address}").close()
      return f"postgresql+psycopg2{address}"
    except psycopg2.OperationalError:
      if server.poll() is not None:
        if time.monotonic() > last:
          raise  # Its own messages say why.
        # It does not start beside one that was killed and is not gone yet.
        server = subprocess.Popen(command)
      time.sleep(0.1)


def main():
  runfiles = pathlib.Path.cwd().parent  # Bazel starts us in one of them.
  programs = [runfiles / path for path in sys.argv[1:3]]
  folder, port = pathlib.Path(sys.argv[3]), sys.argv[4]
  folder.mkdir(exist_ok=True)
  uri = _database(*programs, folder)
  cli(["migrate", "apply", uri], standalone_mode=False)
  config = folder / "bgd.yml"
  template = string.Template(_CONFIG.read_text("utf-8"))
  config.write_text(template.substitute(folder=folder, port=port, uri=uri))
  cli(["server", "start", str(config)])


if __name__ == "__main__":
  main()
