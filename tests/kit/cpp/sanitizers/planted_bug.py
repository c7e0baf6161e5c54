# SPDX-License-Identifier: Apache-2.0
"""Calls a handler of planted_bugs_ffi.cc, for planted_bugs_test.py.

planted_bug.py TARGET 0|1
"""

import os
import sys

os.environ["NPROC"] = "2"  # Threads of XLA's pool, also on a single core.

import handlers
import jax
import jax.numpy as jnp
import numpy as np


def main(target, bug):
  handler = handlers.load("sanitizers/planted_bugs_ext")[target + "_cpu"]
  jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler))
  # As many bytes as a size class of malloc: none is left over at the end.
  x = jnp.arange(1024, dtype=np.int32)
  y = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(x.shape, x.dtype))(
      x, bug=np.bool_(bug)
  )
  print(np.asarray(y - x).sum())


if __name__ == "__main__":
  main(sys.argv[1], int(sys.argv[2]))
