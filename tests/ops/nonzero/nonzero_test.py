# SPDX-License-Identifier: Apache-2.0
"""nonzero: that of jax.numpy, to the bit."""

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import strategies
import jax
import jax.numpy as jnp
import numpy as np
import sorted_arrays

from jax_ffi_ops import kit
from jax_ffi_ops import nonzero
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.ops.nonzero import _nonzero

# Around the 8 elements of a step, the 128 of a sum, and the 32768 of a block.
_LENGTHS = (1, 7, 8, 9, 127, 128, 129, 32767, 32768, 32769, 100_003)
_DTYPES = ("bool", "int8", "uint64", "float16", "bfloat16", "float32",
           "float64", "complex64")  # fmt: skip
_FILLS = (None, 0, -1, True, np.int8(3), np.uint32(7), 2.5, np.float32("nan"),
          1j)  # fmt: skip


def _mask(share, *shape):
  return np.random.default_rng(len(shape)).random(shape) < share


class NonzeroTest(testing.OpTest):
  case = Case(
      _nonzero,
      [Operand((16,), "bool"), Operand((), "int32")],
      attributes={"size": 9},
  )


class WideNonzeroTest(testing.ValuesTest):
  """Indices of 64 bits."""

  case = Case(
      _nonzero,
      [Operand((16,), "bool"), Operand((), "int64")],
      attributes={"size": 9},
  )


class SameAsJaxTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))

  def check(self, a, size=None, fill_value=None):
    """Compares with NumPy, and types with those of jax.numpy."""
    a = jnp.asarray(a)
    got = nonzero(a, size=size, fill_value=fill_value)
    found = np.nonzero(np.asarray(a != 0))
    size = len(found[0]) if size is None else size
    # It takes long to compile, and its types do not.
    types = jax.eval_shape(
        lambda a: jnp.nonzero(a, size=size, fill_value=fill_value), a
    )
    fills = fill_value if a.size else 0  # jax.numpy's are 0, too.
    fills = fills if isinstance(fills, tuple) else (fills,) * a.ndim
    self.assertIsInstance(got, tuple)
    for x, like, indices, fill in zip(got, types, found, fills, strict=True):
      want = np.full(size, 0 if fill is None else fill, like.dtype)
      want[: len(indices)] = indices[:size]
      self.assertEqual((x.dtype, x.weak_type), (like.dtype, like.weak_type))
      np.testing.assert_array_equal(x, want)

  @parameterized.parameters(*_LENGTHS)
  def test_lengths(self, n):
    masks = [_mask(share, n) for share in (0, 0.001, 0.1, 0.9, 1)]
    for size in {n // 2, n, n + 1000}:
      find = jax.jit(lambda a: nonzero(a, size=size, fill_value=-5)[0])
      for a in masks:
        (found,) = np.nonzero(a)
        want = np.full(size, -5)
        want[: len(found)] = found[:size]
        np.testing.assert_array_equal(find(a), want)

  @parameterized.parameters(*_DTYPES)
  def test_dtypes(self, dtype):
    with jax.enable_x64(True):
      a = jnp.asarray(np.arange(-3, 5) * _mask(0.6, 40, 8)).astype(dtype)
      self.check(a, size=400)
    self.check(np.asarray(a)[0], size=100)

  @sorted_arrays.many(strategies.floats(0, 2), strategies.sampled_from(_FILLS))
  def test_many(self, x, share, fill):
    with jax.enable_x64(True):
      self.check(x, size=int(share * x.size), fill_value=fill)

  def test_zeros_subnormals_and_nan(self):
    for dtype in ("float16", "bfloat16", "float32"):
      tiny = jnp.finfo(dtype).smallest_subnormal
      self.check(
          jnp.array([0, -0.0, np.nan, np.inf, tiny, -tiny, 1], dtype), size=7
      )

  @parameterized.parameters(*_FILLS)
  def test_fill(self, fill):
    for shape in ((30,), (5, 6), (0, 3)):
      self.check(_mask(0.5, *shape), size=40, fill_value=fill)
    self.check(_mask(0.5, 30), size=0, fill_value=fill)

  def test_fills_of_axes(self):
    self.check(_mask(0.5, 4, 5), size=30, fill_value=(-1, 2.5))
    self.check(_mask(0.5, 20), size=30, fill_value=(-1,))

  def test_as_jax_computes_it(self):
    a = _mask(0.5, 4, 5)
    for fill in (None, -4, 2.5):
      got, want = (
          jax.jit(lambda v: f(a, size=30, fill_value=v))(fill)
          for f in (nonzero, jnp.nonzero)
      )
      for x, y in zip(got, want, strict=True):
        np.testing.assert_array_equal(x, y)

  @parameterized.parameters((3, 4, 5), (1, 1), (2, 0, 3), (1, 70_000, 2))
  def test_several_axes(self, *shape):
    self.check(_mask(0.3, *shape))
    self.check(_mask(0.3, *shape), size=50)

  def test_without_size(self):
    for share in (0, 0.5, 1):
      self.check(_mask(share, 1000))
      self.check(_mask(share, 40_000).astype(np.float32))
    self.check(np.zeros((0,)))

  def test_vmap(self):
    a = _mask(0.5, 4, 50, 3)
    for axis in (0, 1, 2):
      find = lambda x: nonzero(x, size=90, fill_value=-1)
      each = [find(x) for x in np.moveaxis(a, axis, 0)]
      for got, want in zip(jax.vmap(find, in_axes=axis)(a), zip(*each)):
        np.testing.assert_array_equal(got, np.stack(want))

  def test_errors_are_those_of_jax(self):
    a = _mask(0.5, 6)
    calls = [
        lambda f: f([1, 2]),
        lambda f: f("text"),
        lambda f: f(np.ones(3, "U1")),
        lambda f: f(np.ones(3, ">f4")),
        lambda f: f(jnp.array(1)),
        lambda f: f(3),
        lambda f: f(a, size=-1),
        lambda f: f(a, size=2.5),
        lambda f: f(a, size=3, fill_value=np.ones(2)),
        lambda f: f(a, size=3, fill_value=(1, 2)),
        lambda f: f(a, size=3, fill_value=(None,)),
        lambda f: f(a, size=3, fill_value=2**40),
        lambda f: f(a, size=3, fill_value="text"),
        lambda f: jax.jit(f)(a),
        lambda f: jax.jit(lambda: f(a))(),
        lambda f: jax.vmap(f)(a[None]),
        lambda f: jax.jit(lambda n: f(a, size=n))(3),
    ]
    first_line = lambda error: str(error.exception).splitlines()[0]
    for index, call in enumerate(calls):
      with self.subTest(index):
        with self.assertRaises(Exception) as want:
          call(jnp.nonzero)
        with self.assertRaises(type(want.exception)) as got:
          call(nonzero)
        self.assertEqual(first_line(got), first_line(want))


if __name__ == "__main__":
  absltest.main()
