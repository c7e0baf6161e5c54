# SPDX-License-Identifier: Apache-2.0
"""All cases, with more peers: other forms in jax, and other libraries."""

import contextlib
import dataclasses

from jax_ffi_ops.timing import cases
from jax_ffi_ops.timing.case import Timed
import jax_peers
import numpy_peers

_MODULES = [numpy_peers]
with contextlib.suppress(ImportError):  # Not there, or not for this machine.
  import torch_peers

  _MODULES.append(torch_peers)

# What makes the variants of a library's functions.
MAKERS = {name: x.make for x in _MODULES for name in x.LIBRARIES}


def _beside(name: str, case: Timed) -> Timed:
  libraries = {
      library: functions[name]
      for module in _MODULES
      for library, functions in module.LIBRARIES.items()
      if name in functions
  }
  peers = {**case.peers, **jax_peers.PEERS.get(name, {})}
  return dataclasses.replace(case, peers=peers, libraries=libraries)


CASES = {name: _beside(name, case) for name, case in cases.CASES.items()}


def gpu_ops() -> list[str]:
  """Returns the ops that have a kernel for GPUs."""
  return [name for name, case in CASES.items() if case.gpu_sizes]
