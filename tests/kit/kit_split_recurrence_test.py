# SPDX-License-Identifier: Apache-2.0
"""Recurrences whose steps are split over devices: only states are gathered."""

import functools
import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import linear_recurrence
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases.programs import Program
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

_ROWS, _SIZE = 6, 512
_KINDS = (AxisType.Auto, AxisType.Explicit)
_SPECS = (P("b", "a"), P(None, ("a", "b")))
# Sums over loops, for what has none, are all-reduces.
_OPCODES = ("all-gather", "reduce-scatter", "all-reduce")


def _arrays(seed=0, dtype=np.float32, shape=(_ROWS, _SIZE), largest=1.1):
  rng = np.random.default_rng(seed)
  a, b = rng.uniform(-largest, largest, shape), rng.normal(size=shape)
  h0, dh = rng.normal(size=shape[:-1]), rng.normal(size=shape)
  return [x.astype(dtype) for x in (a, b, h0, dh)]


def _place(x, kind, spec):
  mesh = devices.mesh(kind, a=4, b=2)
  return jax.device_put(x, NamedSharding(mesh, spec))


def _scan(a, b, h0, reverse=False):
  return linear_recurrence(a, b, h0, axis=-1, reverse=reverse)


def _pass(a, b, h0, dh, reverse=False):
  h, pull_back = jax.vjp(functools.partial(_scan, reverse=reverse), a, b, h0)
  return h, pull_back(dh)


def _sequential(a, b, h0, reverse=False):
  """Returns h in NumPy, and sums of the sizes of all that is rounded for it."""
  h, wholes, sizes = np.empty_like(b), np.empty(b.shape), np.empty(b.shape)
  last, whole, size = h0, np.abs(h0), 0
  steps = range(b.shape[-1])
  for t in reversed(steps) if reverse else steps:
    last = a[:, t] * last + b[:, t]
    product = np.abs(a[:, t]) * whole
    whole = product + np.abs(b[:, t])
    size = np.abs(a[:, t]) * size + product + whole
    h[:, t], wholes[:, t], sizes[:, t] = last, whole, size
  return h, wholes, sizes


class _TestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))

  def check(self, function, args, kind, spec):
    """No device has a whole row, or gets more than the states of pieces."""
    specs = [spec if np.ndim(x) == 2 else P(spec[0]) for x in args]
    placed = [
        None if x is None else _place(x, kind, own)
        for x, own in zip(args, specs)
    ]
    program = Program(function, *placed)
    for collective in program.collectives():
      self.assertIn(collective.opcode, _OPCODES)
      self.assertLessEqual(collective.elements, 5 * 8 * _ROWS)
    self.assertNotRegex(program.text, rf"\[(\d+,)*{_SIZE}(,\d+)*\]")
    actual = jax.tree.leaves(program(*placed))
    for got, want in zip(actual, jax.tree.leaves(function(*args)), strict=True):
      if got.ndim == 2:
        self.assertTrue(got.sharding.is_equivalent_to(placed[1].sharding, 2))
      # Sums of as many terms; factors average to less than 1.
      allowed = _SIZE * np.finfo(np.float32).eps * np.max(np.abs(want))
      np.testing.assert_allclose(got, want, rtol=0, atol=allowed)

  def check_both_passes(self, kind, spec, reverse):
    function = functools.partial(_pass, reverse=reverse)
    self.check(function, _arrays(), kind, spec)


class SampleTest(_TestCase):
  """Some of all: they run with each run of the tests."""

  @parameterized.parameters(*zip(_KINDS, _SPECS, (True, False)))
  def test_forward_and_backward(self, kind, spec, reverse):
    self.check_both_passes(kind, spec, reverse)

  @parameterized.parameters(*_KINDS)
  def test_products_that_overflow(self, kind):
    """Of a piece's factors, though no h does."""
    for dtype in (np.float32, np.float64):
      with jax.enable_x64(True):
        large = np.array(np.sqrt(np.finfo(dtype).max) / 4, dtype)
        a = np.tile(np.array([1 / large, 1, large], dtype), (_ROWS, 128))
        a[0] = np.repeat(np.array([1, large], dtype), 192)  # of h = 0
        a[1, 80:], a[1, 150] = large, 0  # ended within a piece
        b = np.zeros(a.shape, dtype)
        b[1, 300] = 1
        h0 = np.array([0, 0, 1, 1, 1, 1], dtype)
        a[1, 301:] = 1
        if dtype == np.float64:  # 2^1500 and its inverse.
          a[3:5] = 1
          a[3, :100], a[4, :100] = 2.0**15, 2.0**-15
          h0[3], h0[4] = 2.0**-1000, 2.0**1000
        args = a, b, h0
        specs = P("b", "a"), P("b", "a"), P("b")
        placed = [_place(x, kind, spec) for x, spec in zip(args, specs)]
        np.testing.assert_allclose(
            jax.jit(_scan)(*placed), _scan(*args), rtol=1e-5
        )

  def test_what_is_not_finite(self):
    a, b, h0, _ = _arrays()
    b[0, 200] = np.inf
    a[1, 200] = np.nan
    b[2, 10] = np.nan
    a[2, 300] = 0
    h0[3] = np.nan
    a[4], h0[4] = 2, 1  # overflows
    a[5], b[5] = 0, -0.0
    args = a, b, h0
    specs = P("b", "a"), P("b", "a"), P("b")
    placed = [_place(x, AxisType.Auto, spec) for x, spec in zip(args, specs)]
    np.testing.assert_allclose(
        jax.jit(_scan)(*placed), _scan(*args), rtol=1e-4, atol=1e-4
    )


class KitSplitRecurrenceTest(_TestCase):

  @parameterized.parameters(*itertools.product(_KINDS, _SPECS, (False, True)))
  def test_forward_and_backward(self, kind, spec, reverse):
    self.check_both_passes(kind, spec, reverse)

  @parameterized.parameters(*_KINDS)
  def test_without_a_start(self, kind):
    a, b, _, dh = _arrays()
    self.check(_pass, (a, b, None, dh), kind, _SPECS[0])

  @parameterized.parameters(*itertools.product(_KINDS, (False, True)))
  def test_forward_mode(self, kind, reverse):
    scan = functools.partial(_scan, reverse=reverse)
    function = lambda *x: jax.jvp(scan, x[:3], x[3:])
    args = _arrays(0)[:3] + _arrays(1)[:3]
    self.check(function, args, kind, _SPECS[0])

  def test_second_derivatives(self):
    args = _arrays()

    def function(a, b, h0, dh):
      first = lambda *x: jax.vjp(_scan, *x)[1](dh)
      return jax.vjp(first, a, b, h0)[1]((b, a, h0))

    placed = [_place(x, AxisType.Auto, P(*("b", "a")[: x.ndim])) for x in args]
    for got, want in zip(jax.jit(function)(*placed), function(*args)):
      allowed = _SIZE * np.finfo(np.float32).eps * np.max(np.abs(want))
      np.testing.assert_allclose(got, want, rtol=0, atol=allowed)

  def test_factors_without_some_axes(self):
    a, b, h0, dh = _arrays()
    for own, spec in ((a[:1], P(None, "a")), (a[:, :1] * 0.9, P("b", None))):
      placed = [
          _place(x, AxisType.Auto, own_spec)
          for x, own_spec in (
              (own, spec), (b, P("b", "a")), (h0, P("b")), (dh, P("b", "a"))
          )
      ]  # fmt: skip
      got = jax.tree.leaves(jax.jit(_pass)(*placed))
      for x, want in zip(got, jax.tree.leaves(_pass(own, b, h0, dh))):
        allowed = _SIZE * np.finfo(np.float32).eps * np.max(np.abs(want))
        np.testing.assert_allclose(x, want, rtol=0, atol=allowed)

  @parameterized.parameters(*kit.FLOATING, np.complex64, np.complex128)
  def test_bounds(self, dtype):
    """A step adds four roundings; a carry and products of factors, two more."""
    dtype = jnp.dtype(dtype)
    with jax.enable_x64(True):
      for reverse in (False, True):
        a, b, h0, _ = _arrays(dtype=dtype, largest=1.3)
        placed = [
            _place(x, AxisType.Auto, spec)
            for x, spec in ((a, _SPECS[0]), (b, _SPECS[0]), (h0, P("b")))
        ]
        got = jax.jit(_scan, static_argnames="reverse")(*placed, reverse)
        self.assertEqual(got.dtype, dtype)
        wide = np.clongdouble if dtype.kind == "c" else np.longdouble
        a, b, h0 = (x.astype(wide) for x in (a, b, h0))
        want, wholes, sizes = _sequential(a, b, h0, reverse)
        inner = np.float32 if dtype.itemsize == 2 else jnp.finfo(dtype).dtype
        allowed = sizes * gamma(6, inner)
        if dtype.itemsize == 2:
          allowed = allowed + gamma(1, dtype) * (wholes + allowed)
        distance = np.abs(np.asarray(got).astype(wide) - want)
        self.assertLess(np.max(distance - allowed), 0)

  def test_uneven_pieces_are_gathered(self):
    a, b, h0, _ = (x[..., :66] for x in _arrays())
    mesh = devices.mesh(a=4)

    def constrained(a, b, h0):
      split = NamedSharding(mesh, P(None, "a"))
      whole = NamedSharding(mesh, P())
      a, b = (jax.lax.with_sharding_constraint(x, split) for x in (a, b))
      return jax.lax.with_sharding_constraint(_scan(a, b, h0, True), whole)

    placed = [jax.device_put(x, NamedSharding(mesh, P())) for x in (a, b, h0)]
    np.testing.assert_array_equal(
        jax.jit(constrained)(*placed), _scan(a, b, h0, True)
    )

  @parameterized.parameters(*_KINDS)
  def test_vmap_and_other_axes(self, kind):
    a, b, _, dh = (np.ascontiguousarray(x.T) for x in _arrays())
    function = lambda a, b, dh: jax.vjp(linear_recurrence, a, b)[1](dh)
    mapped = jax.vmap(function, 1, 1)
    for own in (function, mapped):
      self.check(own, (a, b, dh), kind, P("a", "b"))


if __name__ == "__main__":
  absltest.main()
