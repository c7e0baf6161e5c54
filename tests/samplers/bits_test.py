# SPDX-License-Identifier: Apache-2.0
"""Random bits and keys are those of Threefry, and of jax.random."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops import random
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from jax_ffi_ops.random import keys


def _words(values):
  return jnp.asarray(values, np.uint32)


def _case(op, **attributes):
  return Case(op, [Operand((2,), np.uint32)] * 2, attributes)


class BitsOpTest(testing.OpTest):
  case = _case(keys.OPS[0], n=37, width=32, in_halves=False)


class HalvesOpTest(testing.OpTest):
  case = _case(keys.OPS[0], n=37, width=32, in_halves=True)


class KeysOpTest(testing.OpTest):
  case = _case(keys.OPS[1], n=37)


def threefry(key, count):
  """Returns both words of a block; Python's integers have no size."""
  mask = 2**32 - 1
  third = key[0] ^ key[1] ^ 0x1BD11BDA
  schedule = [key[0], key[1], third]
  a, b = (count[0] + key[0]) & mask, (count[1] + key[1]) & mask
  rotations = [(13, 15, 26, 6), (17, 29, 16, 24)]
  for group in range(5):
    for r in rotations[group % 2]:
      a = (a + b) & mask
      b = ((b << r | b >> (32 - r)) & mask) ^ a
    a = (a + schedule[(group + 1) % 3]) & mask
    b = (b + schedule[(group + 2) % 3] + group + 1) & mask
  return a, b


class _TestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))

  def check_rows_of_keys(self, partitionable, n):
    """Rows that are shorter than a vector, and not."""
    with jax.threefry_partitionable(partitionable):
      several = jax.random.split(jax.random.key(13), (3, 5))
      for ours, theirs in (
          (random.bits, jax.random.bits),
          (
              lambda k, s: jax.random.key_data(random.split(k, s)),
              lambda k, s: jax.random.key_data(jax.random.split(k, s)),
          ),
      ):
        found, expected = (
            jax.jit(jax.vmap(jax.vmap(lambda k, f=f: f(k, (n,)))))(several)
            for f in (ours, theirs)
        )
        np.testing.assert_array_equal(found, expected)
      data = np.arange(15, dtype=np.uint32).reshape(3, 5) - 7
      found, expected = (
          jax.random.key_data(jax.vmap(jax.vmap(f))(several, data))
          for f in (random.fold_in, jax.random.fold_in)
      )
      np.testing.assert_array_equal(found, expected)


class BitsTest(_TestCase):

  @parameterized.product(
      key=((0, 0), (1, 2**32 - 1)),
      start=((0, 0), (0, 2**32 - 21), (7, 2**32 - 1)),
  )
  def test_definition(self, key, start):
    """The counts of a row go on over 2^32."""
    n = 40
    position = start[0] * 2**32 + start[1]
    blocks = np.array(
        [threefry(key, divmod(position + i, 2**32)) for i in range(n)],
        np.uint64,
    )
    operands = _words(key), _words(start)
    np.testing.assert_array_equal(keys.OPS[1](*operands, n=n), blocks)
    both = blocks[:, 0] ^ blocks[:, 1]
    for width in (8, 16, 32):
      found = keys.OPS[0](*operands, n=n, width=width, in_halves=False)
      self.assertEqual(found.dtype, f"uint{width}")
      np.testing.assert_array_equal(found, both.astype(found.dtype))
    found = keys.OPS[0](*operands, n=n, width=64, in_halves=False)
    np.testing.assert_array_equal(found, blocks[:, 0] << 32 | blocks[:, 1])

  def test_known_answers(self):
    """Those of the authors, of Random123's kat_vectors."""
    ones = 2**32 - 1
    for count, key, block in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ones, ones), (ones, ones), (0x1CB996FC, 0xBB002BE7)),
        (
            (0x243F6A88, 0x85A308D3),
            (0x13198A2E, 0x03707344),
            (0xC4923A9C, 0x483DF7A0),
        ),
    ):
      self.assertEqual(threefry(key, count), block)
      found = keys.OPS[1](_words(key), _words(count), n=1)
      np.testing.assert_array_equal(found, [block])

  @parameterized.parameters(
      itertools.chain(
          itertools.product((True, False), (8, 16, 64), ((0,), (3, 7, 5))),
          itertools.product(
              (True, False), (32,), ((), (1,), (16,), (17,), (64, 1024))
          ),
      )
  )
  def test_bits_are_jaxs(self, partitionable, width, shape):
    with jax.threefry_partitionable(partitionable):
      key = jax.random.key(11)
      dtype = f"uint{width}"
      np.testing.assert_array_equal(
          random.bits(key, shape, dtype), jax.random.bits(key, shape, dtype)
      )

  @parameterized.product(partitionable=(True, False), n=(0, 1, 33))
  def test_keys_are_jaxs(self, partitionable, n):
    with jax.threefry_partitionable(partitionable):
      key = jax.random.key(12)
      for ours, theirs in (
          (random.split(key, n), jax.random.split(key, n)),
          (random.split(key, (n, 2)), jax.random.split(key, (n, 2))),
          (random.fold_in(key, n), jax.random.fold_in(key, n)),
      ):
        np.testing.assert_array_equal(
            jax.random.key_data(ours), jax.random.key_data(theirs)
        )

  @parameterized.parameters((True, 1), (False, 19))
  def test_rows_of_keys(self, partitionable, n):
    self.check_rows_of_keys(partitionable, n)

  def test_devices_draw_their_own(self):
    """No device gets another one's numbers."""
    mesh = jax.make_mesh((8,), ("x",), (jax.sharding.AxisType.Auto,))
    placed = jax.sharding.NamedSharding(mesh, jax.P("x"))
    key = jax.random.key(14)
    for shape in ((2**19,), (16, 2**13)):
      draw = jax.jit(
          lambda key, shape=shape: random.uniform(key, shape),
          out_shardings=placed,
      )
      text = draw.lower(key).compile().as_text()
      for collective in ("all-gather", "all-reduce", "collective-permute"):
        self.assertNotIn(collective, text)
      np.testing.assert_array_equal(draw(key), jax.random.uniform(key, shape))


class MoreBitsTest(_TestCase):

  @parameterized.parameters((True, 19), (False, 1))
  def test_rows_of_keys(self, partitionable, n):
    self.check_rows_of_keys(partitionable, n)


class ManyBitsTest(parameterized.TestCase):

  @parameterized.parameters(
      itertools.product((True, False), (8, 16, 32), (2**20 + 3, 2**22))
  )
  def test_bits_are_jaxs(self, partitionable, width, n):
    with jax.threefry_partitionable(partitionable):
      key = jax.random.key(n)
      np.testing.assert_array_equal(
          random.bits(key, (n,), f"uint{width}"),
          jax.random.bits(key, (n,), f"uint{width}"),
      )


if __name__ == "__main__":
  absltest.main()
