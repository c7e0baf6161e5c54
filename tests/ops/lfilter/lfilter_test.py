# SPDX-License-Identifier: Apache-2.0
"""lfilter: the op that it and sosfilt are made of; scipy_test has their values."""

from absl.testing import absltest

from jax_ffi_ops import kit
from jax_ffi_ops import lfilter
from jax_ffi_ops.kit import testing
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand


def _small(rng, shape):
  """Coefficients of sections whose gain is below 1, however many they are."""
  return rng.uniform(-0.3, 0.3, shape) / max(shape[-2:])


class LfilterTest(testing.OpTest):
  case = Case(
      # The op itself, whose results are zf and y.
      kit.ops_of(lfilter)[0],
      [
          Operand(
              (3,), values=lambda rng, shape: rng.uniform(-0.3, 0.3, shape)
          ),
          Operand((3, 2), values=_small),
          Operand((3, 2), values=_small),
          Operand((16,)),
          Operand((3, 2)),
      ],
      attributes={"reverse": True},
      trailing=1,
  )


class LfilterCallsTest(testing.ValuesTest):
  """Of the suite, what is quick: five operands make most of it slow."""

  case = LfilterTest.case


if __name__ == "__main__":
  absltest.main()
