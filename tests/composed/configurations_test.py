# SPDX-License-Identifier: Apache-2.0
"""Every public function works in every configuration of jax.

These are configurations under which a user may run a whole program or test
suite. In each, a function returns what it returns without it.
"""

import contextlib
import functools
import os
import re
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"

from absl.testing import absltest
from absl.testing import parameterized
import every_call
import jax
from jax import export
import jax.numpy as jnp
from jax.sharding import AxisType
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices

_FUNCTIONS = every_call.functions()
_NAMES = tuple(every_call.CALLS)

# What only refuses some calls, and so must not change a program.
_RULES = (
    lambda: jax.numpy_dtype_promotion("strict"),
    lambda: jax.numpy_rank_promotion("raise"),
    lambda: jax.transfer_guard("disallow"),
    jax.checking_leaks,
    lambda: jax.enable_checks(True),
)


@contextlib.contextmanager
def _no_special_numbers():
  with jax.debug_nans(True), jax.debug_infs(True):
    yield


def _is_inexact(x):
  return jnp.issubdtype(x.dtype, jnp.inexact)


def _bound(name, call, function=None):
  """Returns a new function of the operands, which nobody has traced."""
  function = function or _FUNCTIONS[name]
  return lambda *operands: call.run(function, *operands)


def _with_gradients(run):
  """Returns a function that returns results and the gradients of operands."""

  def both(*operands):
    moving = [i for i, x in enumerate(operands) if _is_inexact(x)]

    def of_moving(*values):
      given = list(operands)
      for i, x in zip(moving, values):
        given[i] = x
      results = run(*given)
      total = sum(
          jnp.sum(x, dtype=np.float32)
          for x in jax.tree.leaves(results)
          if _is_inexact(x)
      )
      return total, results

    values = [operands[i] for i in moving]
    results = run(*operands)
    if not values or not any(map(_is_inexact, jax.tree.leaves(results))):
      return results
    return jax.grad(of_moving, range(len(values)), has_aux=True)(*values)

  return both


def _traced(name):
  return [x for x in every_call.CALLS[name] if x.traces]


def _program(name, calls, gradients=True):
  """Returns a jitted function of the operands of all these calls, and those."""
  runs = [_bound(name, call) for call in calls]
  if gradients:
    runs = list(map(_with_gradients, runs))

  def program(operands):
    return [run(*x) for run, x in zip(runs, operands)]

  return jax.jit(program), [
      [jnp.asarray(x) for x in call.operands] for call in calls
  ]


@functools.cache
def _wanted(name):
  """Returns results and gradients without a configuration."""
  program, operands = _program(name, _traced(name))
  return program(operands)


def _in_16_bits(calls):
  return [
      call._replace(
          operands=[
              x.astype(jnp.bfloat16) if x.dtype == np.float32 else x
              for x in call.operands
          ]
      )
      for call in calls
      if call.takes_16_bits
  ]


def _lines(program, operands):
  """Returns the lines of a program, without the numbers of its functions."""
  text = program.lower(operands).as_text()
  return set(re.sub(r"(@\w+?)_\d+", r"\1", text).splitlines())


def _check_rules(test, name, gradients):
  """All rules together change no program."""
  calls = _traced(name)
  wanted = _lines(*_program(name, calls, gradients))
  program, operands = _program(name, calls, gradients)
  in_16_bits, rounded = _program(name, _in_16_bits(calls), gradients)
  with contextlib.ExitStack() as stack:
    for rule in _RULES:
      stack.enter_context(rule())
    test.assertEqual(_lines(program, operands), wanted)
    in_16_bits.lower(rounded)


class ConfigurationsTest(parameterized.TestCase):

  def test_every_function_has_calls(self):
    self.assertCountEqual(
        _FUNCTIONS, _NAMES, "every_call.py has calls of each function"
    )

  # Those of linalg are slow: test_rules_of_gradients has them alone.
  @parameterized.parameters(*(x for x in _NAMES if "linalg." not in x))
  def test_rules(self, name):
    _check_rules(self, name, gradients=False)


class MoreConfigurationsTest(parameterized.TestCase):

  def _compare(self, found, wanted, exact=True):
    found, wanted = jax.tree.leaves(found), jax.tree.leaves(wanted)
    for x, y in zip(found, wanted, strict=True):
      self.assertEqual(x.shape, y.shape)
      x, y = np.asarray(x), np.asarray(y)
      if exact:
        np.testing.assert_array_equal(x, y)
      else:  # Rounded elsewhere: another program, or other reductions.
        scale = np.max(np.abs(y), initial=1)
        np.testing.assert_allclose(x, y, 2e-5, 2e-5 * scale)

  @parameterized.parameters(*_NAMES)
  def test_rules_of_gradients(self, name):
    _check_rules(self, name, gradients=True)

  @parameterized.parameters(*_NAMES)
  def test_operation_by_operation(self, name):
    """Where each result of jax.numpy is checked, constants are, too."""
    for call in every_call.CALLS[name]:
      run = _bound(name, call)
      wanted = run(*call.operands)
      with jax.disable_jit(), _no_special_numbers():
        self._compare(run(*call.operands), wanted, exact=False)

  @parameterized.parameters(*_NAMES)
  def test_special_numbers(self, name):
    program, operands = _program(name, _traced(name))
    with _no_special_numbers():
      self._compare(program(operands), _wanted(name))

  @parameterized.parameters(*_NAMES)
  def test_x64(self, name):
    program, operands = _program(name, _traced(name))
    with jax.enable_x64(True):
      self._compare(program(operands), _wanted(name), exact=False)

  # Those that have no namesake in jax are not asked: some transfer constants, as
  # x + 1 does. So does map_coordinates, which jax has jitted.
  @parameterized.parameters(
      *(x for x in every_call.NAMESAKES if x != "map_coordinates")
  )
  def test_transfers_outside_of_jit(self, name):
    """Arrays stay where they are if jax's own function leaves them there."""
    for call in every_call.CALLS[name]:
      operands = [jnp.asarray(x) for x in call.operands]
      wanted = _bound(name, call)(*operands)
      with jax.transfer_guard("disallow"):
        if not self._jax_refuses(name, call, lambda f: f(*operands)):
          found = _bound(name, call)(*operands)
          self._compare(found, wanted, exact=False)

  def _jax_refuses(self, name, call, run):
    """Returns whether jax's function, if there is one, raises an error."""
    namesake = every_call.NAMESAKES.get(name)
    if namesake is None:
      return False
    try:
      run(_bound(name, call, namesake))
    except Exception:  # pylint: disable=broad-exception-caught
      return True
    return False

  @parameterized.parameters(*_NAMES)
  def test_explicit_mesh(self, name):
    mesh = devices.mesh(AxisType.Explicit, a=2)
    for call in _traced(name):
      shape = max((x.shape for x in call.operands), key=np.prod)
      for axis in range(-len(shape), 0):
        split = functools.partial(_split, mesh, shape, axis)
        with jax.set_mesh(mesh):
          operands = list(map(split, call.operands))
          refuses = self._jax_refuses(
              name, call, lambda f: jax.eval_shape(f, *operands)
          )
          if refuses:
            continue
          found = jax.jit(_bound(name, call))(*operands)
        wanted = _bound(name, call)(*call.operands)
        self._compare(found, wanted, exact=False)

  @parameterized.parameters(*_NAMES)
  def test_export_with_symbols(self, name):
    checks = kit.export_checks(_FUNCTIONS[name])
    for call in _traced(name):
      operands = _symbolic(call.operands)
      traces = lambda f: export.export(jax.jit(f))(*operands)
      if operands is None or self._jax_refuses(name, call, traces):
        continue
      with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = jax.jit(_bound(name, call))
        exported = export.export(run, disabled_checks=checks)(*operands)
      found = exported.call(*map(jnp.asarray, call.operands))
      wanted = _bound(name, call)(*call.operands)
      self._compare(found, wanted, exact=False)


def _split(mesh, shape, axis, x):
  """Returns an operand split along one axis, if it has all of that axis."""
  spec = [None] * x.ndim
  if -axis <= x.ndim and x.shape[axis] == shape[axis] and shape[axis] % 2 == 0:
    spec[axis] = "a"
  sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
  return jax.device_put(x, sharding)


def _symbolic(operands):
  """Returns types with a symbol for each size; None for small operands."""
  sizes = sorted({n for x in operands for n in x.shape if n > 6})
  if not sizes:
    return None
  names = {}
  for n in sizes:
    names[n] = f"{names[n - 1]} + 1" if n - 1 in names else f"n{n}"
  scope = export.SymbolicScope()
  return [
      jax.ShapeDtypeStruct(
          export.symbolic_shape(
              ", ".join(names.get(n, str(n)) for n in x.shape), scope=scope
          ),
          x.dtype,
      )
      for x in operands
  ]


if __name__ == "__main__":
  devices.force()
  absltest.main()
