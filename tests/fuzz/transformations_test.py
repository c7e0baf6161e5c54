# SPDX-License-Identifier: Apache-2.0
"""Every op under transformations that are drawn at random.

A failure names the draw. This repeats it, and runs others:

  FUZZ_SEED=0 FUZZ_DRAWS=17:18 ./bazelw test //tests/fuzz:transformations_test
"""

import functools
import math
import os

from absl.testing import absltest
from absl.testing import parameterized
import compositions
import jax
import jax.numpy as jnp
import numpy as np
from own_case import own_case

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.primitives import sharding
from jax_ffi_ops.kit.testing.exactness import checks

_SEED = int(os.environ.get("FUZZ_SEED", "0"))
# Of each op. A draw takes about a second.
_DRAWS = range(*map(int, os.environ.get("FUZZ_DRAWS", "0:2").split(":")))


def _dtype(rng, allowed):
  # A set has another order in each process.
  return rng.choice(sorted(allowed or kit.FLOATING, key=str))


def _case(rng, name):
  """Returns the case of an op's own test, of any sizes and dtypes."""
  case = own_case(name)
  op = case.op
  sizes = {d: int(rng.integers(1, 10)) for d in op.signature.names}
  main = _dtype(rng, op.dtypes[0])
  slots = []
  for i, operand in enumerate(op.operands):
    if i in op.signature.optional and rng.random() < 0.3:
      slots.append(None)
      continue
    allowed = op.dtypes[i]
    is_own = operand in op.weights or allowed and main not in allowed
    core = op.core(operand, sizes, case.call.attributes)
    slots.append(
        testing.Operand(core, _dtype(rng, allowed) if is_own else main)
    )
  attributes = {
      attribute: rng.uniform(0.1, 1)
      if op.attributes[attribute].type in (np.float32, np.float64)
      else value
      for attribute, value in case.attributes.items()
  }
  function = case.function
  if case.trailing:  # Its default may be another axis.
    function = functools.partial(function, axis=-1)
  return testing.Case(function, slots, attributes, case.reference)


def _array(rng, shape, dtype):
  # Multiples of 1/8: an op may round their sums, which the definition does not.
  return (np.round(rng.normal(size=shape) * 8) / 8).astype(dtype)


def _varying_alike(function):
  """Has all results vary over the axes of a shard_map that an operand has."""
  return lambda *operands: function(*sharding.vary_alike(operands))


# A matrix that is drawn may be singular; with such a diagonal, none is.
_REGULAR = {
    "solve_banded": lambda ab, b: (ab.at[..., 0, :].add(16), b),
    "tridiagonal_solve": lambda dl, d, du, b: (dl, d + 16, du, b),
}


def _prepared(name, function):
  """Returns the function of operands that it has a tolerance for."""
  if name not in _REGULAR:
    return function
  return lambda *operands: function(*_REGULAR[name](*operands))


class TransformationsTest(parameterized.TestCase):

  @parameterized.parameters(jax_ffi_ops._ops())
  def test_compositions(self, name):
    self.enter_context(kit.using("handler if served"))
    for index in _DRAWS:
      # The name tells the draws of two ops apart.
      rng = np.random.default_rng([_SEED, index, *name.encode()])
      case = _case(rng, name)
      loops = tuple(int(n) for n in rng.integers(1, 4, rng.integers(3)))
      shared = case.shared_sets()[rng.integers(len(case.shared_sets()))]
      dtypes = [x.dtype for x in case.operands]
      composition = compositions.Composition.draw(
          rng,
          [x.shape for x in case.arrays(loops, shared)],
          min(jnp.dtype(dtype).itemsize for dtype in dtypes) > 2,
          f"{name} of {', '.join(map(str, dtypes))}, attributes"
          f" {case.attributes}",
      )
      again = f"FUZZ_SEED={_SEED} FUZZ_DRAWS={index}:{index + 1}"
      with self.subTest(f"{again}: {composition.text}"):
        with jax.enable_x64(case.is_wide):
          # Of jax: a scan takes none of NumPy's into a derivative.
          operands = [
              jnp.asarray(_array(rng, shape, dtype))
              for shape, dtype in zip(composition.shapes, dtypes)
          ]
          rows = math.prod(loops)
          run = lambda function: composition(_prepared(name, function))
          self._check(case, composition, run, operands, rows)

  def _check(self, case, composition, run, operands, rows):
    definition = lambda function: run(_varying_alike(function))
    expected = case.oracle(definition, *operands)
    avals = jax.eval_shape(definition(case.oracle.function), *operands)
    actual = run(case)(*operands)
    self.assertEqual(len(actual), len(expected))
    # The gradient of an operand that rows or examples share is a sum, and may be
    # smaller than its terms. These are like other gradients, which are no sums.
    sizes = (np.abs(x[np.isfinite(x)]) for x in expected)
    largest = max((np.max(x, initial=0) for x in sizes), default=0)
    for i, (got, want, aval) in enumerate(zip(actual, expected, avals)):
      allowed = checks.tolerance(
          want,
          aval.dtype,
          case.terms * composition.examples,
          parts=rows * composition.examples * bool(composition.orders),
          accumulator=case.accumulator,
          largest=largest,
      )
      problem = checks.difference(got, want, aval.dtype, allowed)
      shapes = ", ".join(str(x.shape) for x in operands)
      self.assertIsNone(problem, f"array {i}, of operands {shapes}, {problem}")


if __name__ == "__main__":
  absltest.main()
