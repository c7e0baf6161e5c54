# SPDX-License-Identifier: Apache-2.0
"""The same bits in every run, for any number of threads, at any address."""

from concurrent import futures
import functools
import hashlib
import os
import subprocess
import sys

import jax
import numpy as np

from jax_ffi_ops.kit.calls import choice
from jax_ffi_ops.kit.testing.cases import transforms
from jax_ffi_ops.kit.testing.cases.case import Case
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.direct import right_calls
from jax_ffi_ops.kit.testing.exactness import checks

_RUNS = 8
_THREADS = (1, 7)

# The threads of XLA's pool are named after Eigen, which they come from.
_CHILD = """
import importlib.util, pathlib, sys
path, module, name = sys.argv[1:]
if module == "__main__":  # That is this program; others may be of a package.
  module = "test_of_parent"
spec = importlib.util.spec_from_file_location(module, path)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
from jax_ffi_ops.kit.testing.direct import determinism
determinism.jax.config.update("jax_num_cpu_devices", 1)  # Else 8 threads.
print(determinism.digest(getattr(module, name).case))
names = [f.read_text() for f in pathlib.Path("/proc/self/task").glob("*/comm")]
print(sum("XLAEigen" in name for name in names))
"""


@functools.cache
def _program(case: Case):
  """Returns results and gradients for many rows, and what they are of."""
  operands = case.arrays((right_calls.many(case),), shared=_weights(case))
  if case.op.reference is None or not case.differentiable:
    return jax.jit(case), operands
  function = jax.jit(transforms.vjp(case))
  return function, (operands, case.cotangents(operands))


def _weights(case):
  names = {*case.op.weights, *case.op.row_sums}
  return frozenset(i for i, n in enumerate(case.op.operands) if n in names)


def _run(case):
  with jax.enable_x64(case.is_wide), choice.using("handler if served"):
    function, args = _program(case)
    return [np.asarray(x) for x in jax.tree.leaves(function(*args))]


def digest(case: Case) -> str:
  """Returns a hash of the bits of all results."""
  digests = hashlib.sha256()
  for x in _run(case):
    digests.update(x.tobytes())
  return digests.hexdigest()


class DeterminismTest(Base):
  """Nothing but the operands decides the bits of results and gradients."""

  def needs_reference(self) -> bool:
    return False

  def test_same_bits_in_every_run(self):
    if not self.case.deterministic:
      return
    first = _run(self.case)
    for _ in range(_RUNS):
      for index in checks.different(first, _run(self.case)):
        self.fail_row("jit of many rows, run again", f"array {index} differs")

  def test_same_bits_at_the_same_time(self):
    if not self.case.deterministic:
      return
    alone = digest(self.case)
    with futures.ThreadPoolExecutor(4) as pool:
      found = set(pool.map(lambda _: digest(self.case), range(_RUNS)))
    if found != {alone}:
      self.fail_row("calls in several threads", "results differ")

  if THOROUGH:  # `HandlerTest` says so too, without other processes.

    def test_same_bits_for_any_number_of_threads(self):
      if not self.case.deterministic:
        return
      for threads in _THREADS:
        if self._digest_of_child(threads) != _digest_on_cpu(self.case):
          self.fail_row(f"{threads} threads of XLA", "results differ")

    def _digest_of_child(self, threads):
      module, name = type(self).__module__, type(self).__name__
      path = sys.modules[module].__file__
      env = os.environ | {
          "JAX_PLATFORMS": "cpu",
          "NPROC": str(threads),
          "PYTHONPATH": os.pathsep.join(sys.path),
      }
      done = subprocess.run(
          [sys.executable, "-c", _CHILD, path, module, name],
          env=env,
          capture_output=True,
          text=True,
      )
      if done.returncode:
        self.fail_row(f"{threads} threads of XLA", f"it fails:\n{done.stderr}")
      found, count = done.stdout.split()
      self.assertEqual(int(count), threads, "XLA does not follow NPROC.")
      return found

  def test_slices_of_operands(self):
    """On a GPU, XLA may give a call a pointer into the array that is sliced."""
    operands = self.case.arrays()

    def sliced(*arrays):
      return [
          array[array.size - x.size :].reshape(x.shape)
          for x, array in zip(operands, arrays)
      ]

    for first in (1, 3, 9) if THOROUGH else (3,):
      wide = [
          np.concatenate([np.ravel(x)[:first], np.ravel(x)]) for x in operands
      ]
      found = jax.jit(lambda *xs: self.case(*sliced(*xs)))(*wide)
      row = f"jit of slices that begin at {first}"
      self.compare_values(row, found, operands)


@functools.cache
def _digest_on_cpu(case):
  with jax.default_device(jax.devices("cpu")[0]):
    return digest(case)
