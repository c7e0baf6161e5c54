# SPDX-License-Identifier: Apache-2.0
"""Runs what is in this folder, with the jax of the Python that runs it.

  python3 run.py all --minutes=10 --call-minutes=5
                                    doctor, quick tests, headlines of the
                                    benchmark, memcheck, all tests; then one
                                    table. Call it again, and it goes on: exit
                                    status 2 asks so
  python3 run.py test               the tests of gpu/ and ops/
  python3 run.py test tests/        all: those of the kit, too
  python3 run.py test gpu/ softmax  those whose paths contain this
  python3 run.py compare ../b ../c  times the headlines of several bundles
  python3 run.py sanitize           compute-sanitizer, its four tools
  python3 run.py sanitize --op=rms_norm memcheck
  python3 run.py bench              all ops, sizes, dtypes and passes
  python3 run.py bench --lines='rms_norm/8192x*/bfloat16' --peers=none
  python3 run.py bench --shard=2/6  every sixth of the lines
  python3 run.py bench overhead     another program of benchmarks/
  python3 run.py list               the tests and the programs

Outputs are in logs/, and logs.tar.gz is all of them. Exit status 1 if something
failed.
"""

import importlib.util
import os
import pathlib
import resource
import signal
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parent
sys.path += [str(_ROOT / "tests/gpu/bundle"), str(_ROOT / "benchmarks")]

import commands


def set_environment():
  """Makes the environment in which everything here runs."""
  folders = {file.parent for file in _ROOT.glob("tests/**/*.py")}
  paths = [
      *("python", "benchmarks", "site-packages"),
      *sorted(str(folder.relative_to(_ROOT)) for folder in folders),
  ]
  paths = [str(_ROOT / path) for path in paths]
  if os.environ.get("PYTHONPATH"):
    paths.append(os.environ["PYTHONPATH"])
  os.environ["PYTHONPATH"] = os.pathsep.join(paths)
  # By default each process would take most of the GPU's memory.
  os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
  os.environ["PYTHONFAULTHANDLER"] = "1"
  resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # A crash would write GBs.
  os.chdir(_ROOT)


def run_program(name: str, arguments: list[str]) -> int:
  return subprocess.run([sys.executable, name, *arguments]).returncode


def main() -> int:
  what, *arguments = sys.argv[1:] or ["help"]
  if importlib.util.find_spec("jax") is None:
    sys.exit(f"run.py: {sys.executable} has no jax")
  caller = pathlib.Path.cwd()
  set_environment()
  # As if interrupted: what runs is stopped, and the results are kept.
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  if what == "all":
    return commands.run_all(arguments)
  if what == "test":
    return commands.test(arguments)
  if what == "compare":
    return commands.compare(arguments, caller)
  if what == "bench":
    name = "benchmarks/benchmark.py"
    if arguments and not arguments[0].startswith("-"):
      name, *_ = commands.find("benchmarks/*benchmark.py", [arguments.pop(0)])
    return run_program(name, arguments)
  if what == "sanitize":
    return run_program("tests/gpu/sanitize.py", arguments)
  if what == "list":
    print(*commands.find("tests/**/*_test.py", arguments), sep="\n")
    print(*commands.find("benchmarks/*benchmark.py"), sep="\n")
    return 0
  sys.exit(__doc__)


if __name__ == "__main__":
  sys.exit(main())
