# SPDX-License-Identifier: Apache-2.0
"""What a benchmark ran on, and with which versions."""

import importlib.metadata
import os
import platform
import re
import subprocess

_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "torch")


def describe() -> dict[str, str | int]:
  """Returns what lscpu knows of the machine; nothing names it."""
  done = subprocess.run(
      ["lscpu"], stdout=subprocess.PIPE, text=True, check=True
  )
  told = dict(re.findall(r"(?m)^ *([^:\n]+): +(.*)$", done.stdout))
  model = "{} (family {}, model {})".format(
      told["Model name"], told.get("CPU family"), told.get("Model")
  )
  caches = {
      n: told[n] for n in ("L1d cache", "L2 cache", "L3 cache") if n in told
  }
  return {
      "processor": model,
      "cores": len(os.sched_getaffinity(0)),
      "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30} GiB",
      **caches,
      "hypervisor": told.get("Hypervisor vendor", "none"),
      "C library": " ".join(platform.libc_ver()),
  }


def versions() -> dict[str, str]:
  """Returns the versions of what is installed."""
  found = {"Python": platform.python_version()}
  for name in _PACKAGES:
    try:
      found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
      pass
  return found
