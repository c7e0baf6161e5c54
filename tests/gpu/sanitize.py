# SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer over all kernels of the ops that have a benchmark.

  sanitize.py [--op=NAME] [--dtype=NAME]
              [memcheck | racecheck | initcheck | synccheck ...]

What it finds in kernels of ours fails; what it finds in XLA's is only told.
"""

import argparse
from collections.abc import Sequence
import os
import pathlib
import re
import shutil
import subprocess
import sys

_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_NAMESPACE = "xla_ffi_ops"  # of all our kernels
_NO_REPORT = re.compile(r"^========= (COMPUTE-SANI|\w+ SUMMARY|LEAK).*$", re.M)
_LOGS = pathlib.Path("logs")
_UNSUPPORTED = "Device not supported"  # On some virtual machines.

# Narrow, middle and wide rows; a few rows and more than one launch has blocks.
_SHAPES = (
    *((1, 1), (5, 3), (3000, 4), (700, 33), (300, 512), (40, 1025)),
    *((5, 4096), (3, 16_385), (2, 65_536), (3, 262_144), (0, 8), (3, 0)),
)
_DTYPES = (
    ("bfloat16", "bfloat16"),
    ("bfloat16", "float32"),
    ("float16", None),
    ("float32", "float32"),
    ("float64", "float64"),
)


def call_kernels(op: str, dtypes: Sequence[str]) -> None:
  """Calls an op's kernels, forward and backward."""
  import jax

  import catalog
  from jax_ffi_ops.timing import passes

  jax.config.update("jax_enable_x64", True)
  found = catalog.CASES[op]
  run = jax.jit(lambda *operands: passes.run(found.function, "both", *operands))
  for dtype, weight_dtype in _DTYPES:
    if dtype not in dtypes:
      continue
    # On the CPU this shows only that it runs.
    for shape in _SHAPES if jax.default_backend() == "gpu" else _SHAPES[:1]:
      size = "x".join(map(str, shape))
      ((operands, cotangents),) = found.make_sets(size, dtype, 1)
      if weight_dtype is None:
        operands = [x for x in operands if x.shape == shape]
      operands = tuple(
          x if x.shape == shape else x.astype(weight_dtype) for x in operands
      )
      jax.block_until_ready(run(operands, cotangents))
  print(f"kernels ran on {jax.devices()[0].device_kind}")


def sanitize(program: str, tool: str, op: str, dtypes: Sequence[str]) -> bool:
  """Runs a tool; tells what it found, and returns whether that is nothing."""
  command = [program, f"--tool={tool}", "--print-limit=1000", sys.executable]
  command += [__file__, f"--call-kernels={op}"]
  done = subprocess.run(
      command + [f"--dtype={dtype}" for dtype in dtypes],
      env={
          **os.environ,
          # An allocation for each array, so that each access beyond one shows.
          "XLA_PYTHON_CLIENT_ALLOCATOR": "platform",
          "XLA_FLAGS": os.environ.get("XLA_FLAGS", "")
          + " --xla_gpu_autotune_level=0",
      },
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
  )
  _LOGS.mkdir(exist_ok=True)
  (_LOGS / f"{op}.{tool}.log").write_text(done.stdout, "utf-8")
  if _UNSUPPORTED in done.stdout:
    sys.exit(f"not run: compute-sanitizer says {_UNSUPPORTED}")
  # A report is a run of lines with a text after the mark.
  text = _NO_REPORT.sub("=========", done.stdout)
  reports = re.findall(r"(?:^=========[^\n]*[^\n=]\n)+", text, re.M)
  ours = [r for r in reports if _NAMESPACE in r]
  ran = "kernels ran on" in done.stdout
  well = ran and not ours and done.returncode == 0
  print(
      f"{op}, {tool}: {'passed' if well else 'FAILED'}; {len(ours)} reports of our"
      f" kernels, {len(reports) - len(ours)} of others"
  )
  if not ran:
    print(done.stdout[-2000:])
  for report in ours[:3]:
    print(report)
  return well


def main() -> int:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--op", action="append", help="by default all")
  parser.add_argument("--dtype", action="append", help="likewise")
  parser.add_argument("--call-kernels", help=argparse.SUPPRESS)
  parser.add_argument("tools", nargs="*", default=_TOOLS, metavar="TOOL")
  options = parser.parse_args()
  dtypes = options.dtype or [dtype for dtype, _ in _DTYPES]
  if options.call_kernels:
    call_kernels(options.call_kernels, dtypes)
    return 0
  program = shutil.which("compute-sanitizer")
  if program is None:
    sys.exit("not run: needs compute-sanitizer on the PATH, and a GPU")
  import catalog

  results = [
      sanitize(program, tool, op, dtypes)
      for op in options.op or catalog.gpu_ops()
      for tool in options.tools
  ]
  print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
  return int(not all(results))


if __name__ == "__main__":
  sys.exit(main())
