# SPDX-License-Identifier: Apache-2.0
"""What tests of small matrices draw, and what they compare results with."""

from collections.abc import Iterator
from typing import Any

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.conformance.base import THOROUGH
from jax_ffi_ops.kit.testing.exactness.rounding import gamma

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
# Of what all of them share.
SOME_DTYPES = DTYPES if THOROUGH else (np.float32, np.complex128)
# Vectors have 2 to 16 lanes; jax computes matrices of 33 rows.
SIZES = (1, 2, 5, 17, 32, 33)
if THOROUGH:
  SIZES += (3, 4, 6, 7, 8, 13, 16, 31)


def jit(function: Any) -> Any:
  """Returns a compiled function whose results are NumPy's.

  A slice of an array of jax compiles one more program.
  """
  compiled = jax.jit(function)
  return lambda *args: jax.tree.map(np.asarray, compiled(*args))


class MatrixTest(parameterized.TestCase):
  """Tests of handlers, with float64."""

  def setUp(self):
    super().setUp()
    self.enter_context(jax.enable_x64(True))
    self.enter_context(kit.using("handler if served"))
    self.enter_context(devices.on_cpu())

  def assert_within(self, error: Any, bound: Any, what: Any) -> None:
    """Fails unless error <= bound, elementwise; NaN is no error that is."""
    wrong = ~(np.asarray(error) <= np.asarray(bound))
    if np.any(wrong):
      at = tuple(np.argwhere(wrong)[0])
      self.fail(
          f"{what}: {wrong.sum()} of {wrong.size} are wrong; at {at} it is"
          f" {error[at]}, and {bound[at]} is allowed"
      )

  def assert_runs_handler(self, function: Any, *args: Any, n: int) -> None:
    """Fails unless handlers run for up to 32 rows, and jax for more."""
    text = kit.explain(function, *args)
    self.assertEqual("on cpu: forward: handler" in text, n <= 32, text)


def normal(seed: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
  rng = np.random.default_rng([seed, *shape])
  x = rng.normal(size=shape)
  if np.issubdtype(dtype, np.complexfloating):
    x = x + 1j * rng.normal(size=shape)
  return x.astype(dtype)


def adjoint(x: Any) -> Any:
  return x.conj().mT


def wide(x: Any) -> np.ndarray:
  """Returns an array in more digits than float64 has."""
  x = np.asarray(x)
  return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def rounding(roundings: int, dtype: Any) -> np.longdouble:
  """Returns the relative error of so many operations.

  Those of complex numbers have at most four times the error (of products, and
  of Smith's quotients). The bound itself, of rounded factors, is 1 % larger.
  """
  is_complex = np.issubdtype(dtype, np.complexfloating)
  return gamma(roundings * (4 if is_complex else 1), dtype) * 1.01


def smallest(dtype: Any) -> np.longdouble:
  """Returns what products below it may lose: subnormal numbers become 0."""
  return np.longdouble(jnp.finfo(dtype).smallest_normal)


def _scales(n: int, least: float) -> np.ndarray:
  return np.logspace(0, np.log10(least), n)


def kinds(n: int, dtype: Any) -> Iterator[tuple[str, np.ndarray]]:
  """Yields square matrices that are hard in some way, [3, n, n]."""
  large = 1e30 if jnp.finfo(dtype).bits == 32 else 1e150
  a = normal(1, (3, n, n), dtype)
  grades = _scales(n, 1 / large).astype(a.real.dtype)
  i = np.arange(n)
  yield "random", a
  yield "rows of other scales", a * grades[:, None]
  yield "columns of other scales", a * grades[::-1]
  yield "large", a * a.real.dtype.type(large)
  yield "small", a / a.real.dtype.type(large)
  near = a.copy()
  near[:, -1] = near[:, 0] * (1 + 4 * jnp.finfo(dtype).eps)
  yield "nearly singular", near
  hilbert = (1 / (1 + i[:, None] + i)).astype(dtype)
  yield "Hilbert's", np.stack([hilbert] * 3)
  yield "identity", np.stack([np.eye(n, dtype=dtype)] * 3)
