# SPDX-License-Identifier: Apache-2.0
"""Ops whose core is split over devices: nothing is gathered but states."""

import functools
import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

from jax_ffi_ops import cumlogsumexp
from jax_ffi_ops import cummax
from jax_ffi_ops import cummin
from jax_ffi_ops import cumsum
from jax_ffi_ops import kit
from jax_ffi_ops import layer_norm
from jax_ffi_ops import rms_norm
from jax_ffi_ops import softmax
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases.programs import Program

_ROWS, _SIZE = 6, 512
_KINDS = (AxisType.Auto, AxisType.Explicit)
# The core over one axis, over two in either order, and rows split as well.
_SPECS = (P("b", "a"), P(None, ("a", "b")), P(None, ("b", "a")))
_SCANS = {
    f"{op.__name__}{', reversed' * reverse}": functools.partial(
        op, axis=1, reverse=reverse
    )
    for op in (cumlogsumexp, cumsum, cummax, cummin)
    for reverse in (False, True)
}
_NORMS = {
    "softmax": softmax,
    "rms_norm": rms_norm,
    "layer_norm": functools.partial(layer_norm, eps=0.1),
}
_OPS = _SCANS | _NORMS
# XLA itself adds up for references of reductions.
_OPCODES = ("all-gather", "reduce-scatter", "all-reduce")
_SUMS = ("cumsum", "cumsum, reversed")


def _rows(dtype=np.float32, size=_SIZE):
  """Returns rows with many equal elements."""
  rng = np.random.default_rng(0)
  return np.round(4 * rng.normal(size=(_ROWS, size))).astype(dtype)


def _cotangent():
  rng = np.random.default_rng(1)
  return rng.normal(size=(_ROWS, _SIZE)).astype(np.float32)


def _pass(op):
  """Returns a function of x and dy: the result, and the cotangent of x."""

  def run(x, dy):
    y, pull_back = jax.vjp(op, x)
    return y, pull_back(dy)[0]

  return run


def _place(x, kind, spec, **axes):
  return jax.device_put(x, NamedSharding(devices.mesh(kind, **axes), spec))


class _TestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))

  def check_gathers_states(self, program):
    """No device has a whole core, or gets more than 3 numbers of each piece."""
    for collective in program.collectives():
      self.assertIn(collective.opcode, _OPCODES)
      self.assertLessEqual(collective.elements, 3 * 8 * _ROWS)
    self.assertNotRegex(program.text, rf"\[(\d+,)*{_SIZE}(,\d+)*\]")

  def compare(self, actual, expected):
    """Both have sums of a row's terms, which are at most as large as these."""
    for got, want in zip(actual, expected, strict=True):
      got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
      most = np.max(np.abs(want), initial=1)
      allowed = _SIZE * np.finfo(np.float32).eps * most
      np.testing.assert_allclose(got, want, rtol=0, atol=allowed)

  def check(self, function, args, kind, spec, **axes):
    """Checks a program of x and others like it, which are all split so."""
    placed = [_place(x, kind, spec, **(axes or {"a": 4, "b": 2})) for x in args]
    program = Program(function, *placed)
    actual = jax.tree.leaves(program(*placed))
    self.check_gathers_states(program)
    for y in actual:
      self.assertTrue(y.sharding.is_equivalent_to(placed[0].sharding, y.ndim))
    self.compare(actual, jax.tree.leaves(jax.jit(function)(*args)))

  def check_the_first_of_equal_elements(self, kind, *extrema):
    x = np.full((2, _SIZE), 2, np.float32)
    x[1] = -np.inf
    g = np.stack([np.arange(_SIZE, dtype=np.float32)] * 2)
    placed = [_place(v, kind, P(None, ("a", "b")), a=4, b=2) for v in (x, g)]
    for op, reverse in extrema:
      want = np.zeros(x.shape)
      want[:, -1 if reverse else 0] = np.sum(g[0])
      _, got = _pass(lambda x: op(x, 1, reverse))(*placed)
      np.testing.assert_array_equal(got, want)


class SampleTest(_TestCase):
  """Some of all: they run with each run of the tests."""

  @parameterized.parameters(*_KINDS)
  def test_the_first_of_equal_elements_has_the_gradient(self, kind):
    self.check_the_first_of_equal_elements(kind, (cummax, kind in _KINDS[:1]))


class KitSplitTest(_TestCase):

  @parameterized.parameters(*_KINDS)
  def test_the_first_of_equal_elements_has_the_gradient(self, kind):
    others = (cummax, kind in _KINDS[1:]), (cummin, False), (cummin, True)
    self.check_the_first_of_equal_elements(kind, *others)

  @parameterized.parameters(
      *itertools.product([n for n in _OPS if n not in _SUMS], _KINDS)
  )
  def test_forward_and_backward(self, name, kind):
    spec = _SPECS[kind == AxisType.Explicit]
    self.check(_pass(_OPS[name]), (_rows(), _cotangent()), kind, spec)

  @parameterized.parameters(*itertools.product(_SUMS, _KINDS, _SPECS))
  def test_meshes(self, name, kind, spec):
    self.check(_pass(_OPS[name]), (_rows(), _cotangent()), kind, spec)

  @parameterized.parameters(*itertools.product(("cumsum", "softmax"), _KINDS))
  def test_forward_mode(self, name, kind):
    function = lambda x, x_dot: jax.jvp(_OPS[name], (x,), (x_dot,))
    self.check(function, (_rows(), _cotangent()), kind, _SPECS[0])

  @parameterized.parameters(*_KINDS)
  def test_other_axes(self, kind):
    rows = _rows(), _cotangent()
    columns = [np.ascontiguousarray(x.T) for x in rows]
    scan = _pass(functools.partial(cumsum, axis=0))
    self.check(scan, columns, kind, P("a", "b"))
    middle = [np.stack([x] * 2) for x in columns]
    scan = _pass(functools.partial(cumsum, axis=1, reverse=True))
    self.check(scan, middle, kind, P("b", "a"))

  @parameterized.parameters(*_KINDS)
  def test_vmap(self, kind):
    args = _rows(), _cotangent()
    for in_axis, spec in ((0, P("b", "a")), (1, P("a", "b"))):
      scan = jax.vmap(cumsum, in_axis, in_axis)
      placed = [x if in_axis == 0 else np.ascontiguousarray(x.T) for x in args]
      self.check(_pass(scan), placed, kind, spec)

  @parameterized.parameters(*_KINDS)
  def test_state_that_no_result_depends_on(self, kind):
    """No device computes that of the last piece of a scan, or the first."""
    for name, op in _OPS.items():
      program = Program(op, _place(_rows(), kind, P("b", "a"), a=4, b=2))
      self.assertEqual("conditional(" in program.text, name in _SCANS, name)

  def test_no_piece_is_transposed(self):
    columns = _place(_rows().T, AxisType.Auto, P("a", "b"), a=4, b=2)
    for reverse in (False, True):
      scan = functools.partial(cumsum, axis=0, reverse=reverse)
      text = Program(scan, columns).text
      self.assertIn("f32[128,3]", text)
      self.assertNotRegex(text, r"f32\[(128,3|3,128)\]\S* (copy|transpose)\(")

  def test_some_axes_of_a_mesh(self):
    """Rows split by hand, or by types, and cores by XLA; and the reverse."""
    args = _rows(), _cotangent()
    function = _pass(functools.partial(cumsum, axis=1))
    mesh = devices.mesh(a=4, b=2)
    by_hand = jax.shard_map(
        function, mesh=mesh, in_specs=P("b"), out_specs=P("b"),
        axis_names={"b"},
    )  # fmt: skip
    self.check(by_hand, args, AxisType.Auto, P("b", "a"))
    for kinds in itertools.permutations(_KINDS):
      mixed = jax.sharding.Mesh(mesh.devices, ("a", "b"), axis_types=kinds)
      placed = [
          jax.device_put(x, NamedSharding(mixed, P("b", "a"))) for x in args
      ]
      program = Program(function, *placed)
      self.check_gathers_states(program)
      self.compare(program(*placed), function(*args))

  def test_whole_cores_in_shard_map(self):
    mapped = jax.shard_map(
        functools.partial(cumsum, axis=1), mesh=devices.mesh(a=2),
        in_specs=P("a"), out_specs=P("a"),
    )  # fmt: skip
    program = Program(mapped, _rows())
    self.assertEmpty(program.collectives())
    self.assertEqual(program.calls("xla_ffi_ops_cumsum_fwd"), 1)

  @parameterized.parameters(*itertools.product((False, True), ("x", "dy")))
  def test_uneven_pieces_are_gathered(self, reverse, what):
    """XLA pads them: a reverse scan would begin with the padding."""
    x = _rows(size=66)
    mesh = devices.mesh(a=4)
    op = functools.partial(cumsum, axis=1, reverse=reverse)
    function = op if what == "x" else lambda x: jax.vjp(op, x)[1](x)[0]

    def constrained(x):  # jax 0.9.2 can neither take nor return such arrays.
      split = NamedSharding(mesh, P(None, "a"))
      x = jax.lax.with_sharding_constraint(x + 3, split)
      return jax.lax.with_sharding_constraint(
          function(x), NamedSharding(mesh, P())
      )

    actual = jax.jit(constrained)(jax.device_put(x, NamedSharding(mesh, P())))
    np.testing.assert_array_equal(actual, function(x + 3))

  def test_second_derivatives(self):
    x, dy = _rows() / 4, _cotangent()
    args = x, dy, _cotangent()[:, ::-1]
    for name in ("cumlogsumexp", "cumlogsumexp, reversed"):
      function = lambda x, dy, v, op=_OPS[name]: jax.jvp(
          lambda x: jax.vjp(op, x)[1](dy)[0], (x,), (v,)
      )[1]
      placed = [_place(x, AxisType.Auto, P("b", "a"), a=4, b=2) for x in args]
      self.compare([jax.jit(function)(*placed)], [function(*args)])

  def test_dtypes_of_maxima(self):
    for dtype, reverse in itertools.product(kit.NUMBERS, (False, True)):
      with jax.enable_x64(dtype.itemsize == 8):
        x = _rows(np.float64).astype(dtype)
        own = _place(x, AxisType.Auto, P(None, "a"), a=8)
        self.assertEqual(cummax(own, 1, reverse).dtype, dtype)
        for op in (cummax, cummin):
          np.testing.assert_array_equal(op(own, 1, reverse), op(x, 1, reverse))

  def test_dtypes(self):
    """Integers wrap; sums of floats are exact but for a few roundings."""
    x = _rows(np.float64) / 3
    for dtype in kit.NUMBERS:
      with jax.enable_x64(dtype.itemsize == 8):
        own = (x * 40 if dtype.kind in "iu" else x).astype(dtype)
        y = cumsum(_place(own, AxisType.Auto, P(None, "a"), a=8), 1)
        self.assertEqual(y.dtype, dtype)
        wide = dtype if dtype.kind in "iu" else np.longdouble
        exact = np.cumsum(own.astype(wide), 1, dtype=wide)
        if dtype.kind in "iu":
          np.testing.assert_array_equal(y, exact)
          continue
        # Sums are kept in float64, and rounded to 32 bits and to the dtype.
        unit = lambda dtype: float(jnp.finfo(dtype).eps) / 2
        total = np.cumsum(np.abs(own.astype(wide)), 1)
        allowed = (_SIZE + 8) * unit(np.float64) * total + unit(dtype) * (
            1 + unit(dtype)
        ) * np.abs(exact)
        distance = np.abs(np.asarray(y).astype(wide) - exact)
        np.testing.assert_array_less(distance, allowed + 1e-300)

  @parameterized.parameters(*_KINDS)
  def test_special_numbers(self, kind):
    x = _rows()
    x[0] = -np.inf
    x[0, 300] = 1
    x[1, 300] = np.inf
    x[2, 300] = np.nan
    x[3] = -np.inf
    x[4, :300] = -np.inf
    x[5] = 1e38
    for name in ("softmax", *_SCANS):
      placed = _place(x, kind, P("b", "a"), a=4, b=2)
      np.testing.assert_allclose(
          _OPS[name](placed), _OPS[name](x), rtol=2e-6, err_msg=name
      )

  @parameterized.parameters(*_KINDS)
  def test_memory(self, kind):
    """A device needs a few times the memory of its piece, not that of all."""
    x = _place(np.ones(1 << 16, np.float32), kind, P("a"), a=8)
    for name, op in {"cumsum": cumsum, "softmax": softmax}.items():
      memory = jax.jit(_pass(op)).lower(x, x).compile().memory_analysis()
      used = memory.temp_size_in_bytes + memory.output_size_in_bytes
      self.assertLess(used, x.nbytes, name)

  def test_exported_program_gathers(self):
    x = _place(_rows(), AxisType.Auto, P("b", "a"), a=4, b=2)
    function = jax.jit(functools.partial(cumsum, axis=1))
    checks = kit.export_checks(cumsum)
    exported = export.export(function, disabled_checks=checks)(x)
    program = Program(exported.call, x)
    self.assertIn("all-gather", {c.opcode for c in program.collectives()})
    np.testing.assert_array_equal(program(x), function(_rows()))


if __name__ == "__main__":
  absltest.main()
