# SPDX-License-Identifier: Apache-2.0
"""compute-sanitizer over all kernels of rms_norm.

  sanitize.py [memcheck | racecheck | initcheck | synccheck ...]

What it finds in kernels of ours fails; what it finds in XLA's is only told.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
_KERNEL = re.compile(r"RmsNorm|xla_ffi_ops|SumParts")
_NO_REPORT = re.compile(r"^========= (COMPUTE-SANI|\w+ SUMMARY|LEAK).*$", re.M)
_LOGS = pathlib.Path("logs")

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


def call_kernels() -> None:
  """Calls the kernels, forward and backward."""
  import jax
  import jax.numpy as jnp
  from rms_norm_oracle import normal

  from jax_ffi_ops import rms_norm

  jax.config.update("jax_enable_x64", True)

  @jax.jit
  def run(x, scale, dy):
    y, pull_back = jax.vjp(rms_norm, x, scale)
    return y, *pull_back(dy)

  for dtype, scale_dtype in _DTYPES:
    for shape in _SHAPES:
      x, dy = (jnp.asarray(normal(shape, dtype, seed)) for seed in range(2))
      scale = scale_dtype and jnp.asarray(normal(shape[-1:], scale_dtype, 2))
      jax.block_until_ready(run(x, scale, dy))
  print(f"kernels ran on {jax.devices()[0].device_kind}")


def sanitize(program: str, tool: str) -> bool:
  """Runs a tool; tells what it found, and returns whether that is nothing."""
  command = [program, f"--tool={tool}", "--print-limit=1000"]
  done = subprocess.run(
      [*command, sys.executable, __file__, "--call-kernels"],
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
  (_LOGS / f"{tool}.log").write_text(done.stdout, "utf-8")
  # A report is a run of lines with a text after the mark.
  text = _NO_REPORT.sub("=========", done.stdout)
  reports = re.findall(r"(?:^=========[^\n]*[^\n=]\n)+", text, re.M)
  ours = [r for r in reports if _KERNEL.search(r)]
  ran = "kernels ran on" in done.stdout
  well = ran and not ours and done.returncode == 0
  print(
      f"{tool}: {'passed' if well else 'FAILED'}; {len(ours)} reports of our"
      f" kernels, {len(reports) - len(ours)} of others"
  )
  if not ran:
    print(done.stdout[-2000:])
  for report in ours[:3]:
    print(report)
  return well


def main() -> int:
  if sys.argv[1:] == ["--call-kernels"]:
    call_kernels()
    return 0
  program = shutil.which("compute-sanitizer")
  if program is None:
    sys.exit("sanitize: needs compute-sanitizer on the PATH, and a GPU")
  results = [sanitize(program, tool) for tool in sys.argv[1:] or _TOOLS]
  print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
  return int(not all(results))


if __name__ == "__main__":
  sys.exit(main())
