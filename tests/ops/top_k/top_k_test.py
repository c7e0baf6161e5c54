# SPDX-License-Identifier: Apache-2.0
"""top_k: that of jax.lax on a CPU, to the bit."""

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import strategies
import jax
import jax.numpy as jnp
import numpy as np
import sorted_arrays

from jax_ffi_ops import kit
from jax_ffi_ops import top_k
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.ops.top_k import _top_k
from jax_ffi_ops.ops.top_k import EQUAL_NANS

_INTEGERS = ("bool", "int8", "int16", "int32", "int64",
             "uint8", "uint16", "uint32", "uint64")  # fmt: skip
_FLOATS = ("float16", "bfloat16", "float32", "float64")
# n and k: around the sizes of blocks, of the parts of a long row, and where
# blocks do not help.
_SIZES = (
    *((1, 1), (5, 0), (5, 5), (63, 1), (64, 1), (65, 1), (511, 8), (512, 8)),
    *((1000, 40), (1025, 8), (4096, 4096), (9000, 64), (131072, 50)),
    *((131073, 1), (300_001, 17), (300_001, 16384), (300_001, 16385)),
)
_INPUTS = {
    "random": lambda rng, n: rng.normal(size=n) * 50,
    "few": lambda rng, n: rng.integers(0, 3, n),
    "equal": lambda rng, n: np.ones(n),
    "increasing": lambda rng, n: np.arange(n) / 8,
    "decreasing": lambda rng, n: -np.arange(n) / 8,
    "organ pipe": lambda rng, n: np.minimum(np.arange(n), np.arange(n)[::-1]),
}


def _bits(x):
  return x if x.dtype == bool else x.view(f"uint{8 * x.itemsize}")


def _definition(x, k):
  """Sorts by keys of the bits, which is stable."""
  values, keys = x, _bits(x)
  if jnp.issubdtype(x.dtype, jnp.floating):
    sign = keys.dtype.type(1 << (8 * x.itemsize - 1))
    if x.dtype == jnp.bfloat16:  # One NaN of each sign.
      is_nan = (keys & ~sign) > 0x7F80
      same = np.where(is_nan, keys & sign | np.uint16(0x7FC0), keys)
      values = same.view(x.dtype)
      keys = same if EQUAL_NANS else keys
    keys = np.where(keys & sign, ~keys, keys | sign)
  elif x.dtype.kind == "i":
    keys = keys ^ keys.dtype.type(1 << (8 * x.itemsize - 1))
  indices = np.argsort(~keys, -1, kind="stable")[..., :k]
  return np.take_along_axis(values, indices, -1), indices


def _bits_at_random(rng, dtype, *shape):
  """Returns all kinds of numbers: NaN and zeros of both signs, subnormal."""
  dtype = jnp.dtype(dtype)
  bits = jnp.finfo(dtype).bits
  unsigned = np.dtype(f"uint{bits}")
  infinity = int(_bits(np.array(np.inf, dtype)))
  special = [0, 1, 2, infinity - 1, infinity, infinity + 1, 2 ** (bits - 1) - 1]
  common = rng.integers(0, 2 ** (bits - 1), shape, np.uint64)
  x = np.where(
      rng.random(shape) < 0.5,
      rng.choice(np.array(special, np.uint64), shape),
      common,
  )
  sign = rng.integers(0, 2, shape, np.uint64) << np.uint64(bits - 1)
  return (x | sign).astype(unsigned).view(dtype)


class TopKTest(testing.OpTest):
  case = Case(
      _top_k,
      [Operand((16,))],
      attributes={"k": 5, "equal_nans": EQUAL_NANS},
      reference=lambda x: jax.lax.top_k(x, min(5, x.size)),
  )


class SameAsJaxTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  def check(self, xs, ks, function=top_k):
    """Makes all calls in one program, which compiles in less time."""
    program = lambda xs: [function(x, k) for x, k in zip(xs, ks, strict=True)]
    for x, k, (values, indices) in zip(xs, ks, jax.jit(program)(xs)):
      label = f"{x.dtype}{x.shape}, k={k}"
      want = _definition(x, k)
      self.assertEqual((values.dtype, indices.dtype), (x.dtype, np.int32))
      np.testing.assert_array_equal(indices, want[1], label)
      np.testing.assert_array_equal(
          _bits(np.asarray(values)), _bits(want[0]), label
      )

  @parameterized.parameters("float32", "int16")
  def test_sizes(self, dtype):
    for make in _INPUTS.values():
      xs = [make(np.random.default_rng(n), n).astype(dtype) for n, _ in _SIZES]
      self.check(xs, [k for _, k in _SIZES])

  @parameterized.parameters(*_INTEGERS, *_FLOATS)
  def test_dtypes(self, dtype):
    rng = np.random.default_rng(0)
    calls = [
        (make(rng, (3, n)).astype(dtype), k)
        for n, k in ((100, 30), (3000, 9))
        for make in (_INPUTS["random"], _INPUTS["few"])
    ]
    # More large elements in turn than 8 bits can count.
    falling = np.roll(np.linspace(120, 0, 900), 200)
    calls.append((falling.astype(dtype), 500))
    if dtype in _INTEGERS[1:]:
      info = np.iinfo(dtype)
      some = np.array([info.min, -1 % 3, 0, info.max], dtype)
      calls.append((rng.choice(some, (2, 900)), 500))
    self.check(*zip(*calls))

  @parameterized.parameters(*_FLOATS)
  def test_bits(self, dtype):
    """NaN by payload and sign, zeros of both signs, subnormal numbers."""
    rng = np.random.default_rng(0)
    shapes = [(2, 40), (3, 5000), (1, 5000)]
    xs = [_bits_at_random(rng, dtype, *shape) for shape in shapes]
    self.check(xs, (40, 17, 4000))
    # The definition is that of jax. Up to 0.11.0, jax's order of NaNs and of
    # subnormal numbers of bfloat16 is another one on some CPUs.
    own = xs[0]
    if EQUAL_NANS and dtype == "bfloat16":
      normal = np.abs(own) >= jnp.finfo(dtype).tiny  # No NaN is.
      own = np.where(normal | (own == 0), own, own.dtype.type(1))
    self.check([own], (40,), jax.lax.top_k)

  @sorted_arrays.many(strategies.floats(0, 1))
  def test_many(self, x, share):
    self.check([x], [int(share * x.size)])

  def test_axes(self):
    x = np.random.default_rng(0).normal(size=(3, 40, 5)).astype(np.float32)

    def results(f):
      return [
          (f(x, 3, axis=axis), jax.vmap(lambda x: f(x, 2), in_axes=axis)(x))
          for axis in (0, 1, 2, -1, -2, -3)
      ]

    got, want = (
        jax.jit(lambda f=f: results(f))() for f in (top_k, jax.lax.top_k)
    )
    jax.tree.map(np.testing.assert_array_equal, got, want)

  def test_gradients_through_ties(self):
    x = np.array([[1, 3, 3, 0, 3], [2, 2, 2, 2, 2]], np.float32)
    total = lambda f: lambda x: (f(x, 2)[0] * jnp.arange(1.0, 3.0)).sum()
    got, want = (jax.jit(jax.grad(total(f)))(x) for f in (top_k, jax.lax.top_k))
    np.testing.assert_array_equal(got, want)

  def test_weak_type(self):
    self.assertTrue(top_k(jnp.full(3, 1.0), 2)[0].weak_type)

  def test_is_stable(self):
    x = np.zeros((3, 100), np.int32)
    for is_stable in (False, True):
      _, indices = top_k(x, 4, is_stable=is_stable)
      np.testing.assert_array_equal(indices, [range(4)] * 3)
    for wrong in (None, 1, "x", np.ones(2)):
      with self.assertRaises(TypeError):
        top_k(x, 4, is_stable=wrong)

  def test_errors_are_those_of_jax(self):
    x = jnp.arange(6.0)
    calls = [
        lambda f: f([1.0, 2.0], 1),
        lambda f: f(np.ones(3, ">f4"), 1),
        lambda f: f(x + 1j, 1),
        lambda f: f(1.0, 1),
        lambda f: f(jnp.array(1.0), 1),
        lambda f: f(x, -1),
        lambda f: f(x, 7),
        lambda f: f(x, 1.5),
        lambda f: f(x, "1"),
        lambda f: f(x, 1, axis=1),
        lambda f: f(x, 1, axis=-2),
        lambda f: jax.jit(lambda k: f(x, k))(3),
    ]
    first_line = lambda error: str(error.exception).splitlines()[0]
    for index, call in enumerate(calls):
      with self.subTest(index):
        with self.assertRaises(Exception) as want:
          call(jax.lax.top_k)
        with self.assertRaises(type(want.exception)) as got:
          call(top_k)
        self.assertEqual(first_line(got), first_line(want))


if __name__ == "__main__":
  absltest.main()
