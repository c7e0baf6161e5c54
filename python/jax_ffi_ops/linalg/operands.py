# SPDX-License-Identifier: Apache-2.0
"""What functions of small matrices take, and which calls they leave to jax."""

from collections.abc import Callable, Mapping
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.operands import ARRAYS
from jax_ffi_ops.ops.common import libraries

# The handlers of all ops here.
LIBRARY = libraries.of_folder("linalg")

REAL = (np.dtype(np.float32), np.dtype(np.float64))
NUMBERS = (*REAL, np.dtype(np.complex64), np.dtype(np.complex128))

# Handlers take so many rows and columns at most: kMostRows of run_matrices.h.
MOST = 32


def _are_enough(a, size, least):
  """Returns whether a call has as many matrices as `least` says for a size."""
  wanted = (count for own, count in least.items() if size >= own)
  return math.prod(a.shape[:-2]) >= max(wanted, default=0)


def choice(least: Mapping[int, int]) -> kit.Choice:
  """Returns when handlers of (n,n),... run.

  Args:
    least: from so many rows on, how many matrices a call has at least.
  """
  return kit.Choice(
      use_handler=lambda *_, n, **__: n <= MOST,
      is_faster=lambda a, *_, n, **__: _are_enough(a, n, least),
  )


def choice_of_shapes(least: Mapping[int, int]) -> kit.Choice:
  """The same for (m,n)->...: `least` is by the lesser of m and n."""
  return kit.Choice(
      use_handler=lambda *_, m, n, **__: max(m, n) <= MOST,
      is_faster=lambda a, *_, m, n, **__: _are_enough(a, min(m, n), least),
  )


# One lane of many is at work in a call of one matrix, and LAPACK's blocks are
# faster for a few large ones. To see it: //benchmarks:benchmark
# --at-any-speed --lines=linalg.solve
LU_CHOICE = choice({1: 2, 24: 8})


def public(*ops: kit.Op) -> Callable[[Any], Any]:
  """Does what kit.public does, and says which matrices these ops take."""
  dtypes = ", ".join(sorted(x.name for x in ops[0].declaration.dtypes[0]))
  return kit.public(
      *ops,
      serves=f"up to {MOST} rows and columns of {dtypes}; not for weak types",
  )


def inexact(
    *arrays: Any, dtypes: tuple[np.dtype, ...] = NUMBERS
) -> list[jax.Array] | None:
  """Returns arrays in the dtype that they promote to; None: jax's to judge."""
  if not all(isinstance(a, ARRAYS) for a in arrays):
    return None
  try:
    found = [jnp.asarray(a) for a in arrays]
    dtype, is_weak = jax.dtypes.result_type(*found, return_weak_type_flag=True)
    if is_weak:
      return None  # So are some results of jax.
    if not jnp.issubdtype(dtype, jnp.inexact):
      dtype = jax.eval_shape(jnp.sqrt, jax.ShapeDtypeStruct((), dtype)).dtype
  except (TypeError, ValueError):
    return None  # A dtype that jax lacks, or does not promote.
  if dtype not in dtypes:
    return None
  return [a.astype(dtype) for a in found]


def are_flags(*flags: Any) -> bool:
  """Returns whether flags are bools or integers, whose truth counts, as in jax."""
  return all(isinstance(flag, int | np.bool_) for flag in flags)


def square(a: Any, dtypes: tuple[np.dtype, ...] = NUMBERS) -> jax.Array | None:
  """Returns square matrices that handlers may serve; None: jax's to judge."""
  found = inexact(a, dtypes=dtypes)
  return found[0] if found and _are_square(found[0]) else None


def matrices(
    a: Any, dtypes: tuple[np.dtype, ...] = NUMBERS
) -> jax.Array | None:
  """Returns matrices that handlers may serve; None: jax's to judge."""
  found = inexact(a, dtypes=dtypes)
  if not found or found[0].ndim < 2:
    return None
  sizes = found[0].shape[-2:]
  is_served = all(isinstance(n, int) and 0 < n <= MOST for n in sizes)
  return found[0] if is_served else None


def _are_square(a):
  return a.ndim >= 2 and a.shape[-1] == a.shape[-2] and _is_small(a.shape[-1])


def _is_small(n):
  return isinstance(n, int) and n <= MOST


def systems(a: Any, b: Any) -> tuple[jax.Array, jax.Array] | None:
  """Returns a and b of a x = b, [..., n, n] and [..., n, k]; None: jax's.

  Their leading axes broadcast: b has all of them, and some of a may be 1. A
  vector b, [n], becomes [n, 1].
  """
  found = inexact(a, b)
  if not found or not _are_square(found[0]) or not found[1].ndim:
    return None
  a, b = found
  b = b[:, None] if b.ndim == 1 else b
  if b.shape[-2] != a.shape[-1]:
    return None
  try:
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
  except ValueError:
    return None
  a = a.reshape((1,) * (len(batch) + 2 - a.ndim) + a.shape)
  return a, jnp.broadcast_to(b, batch + b.shape[-2:])


def systems_of_scipy(a: Any, b: Any) -> tuple[jax.Array, jax.Array] | None:
  """Does what systems does; but a batch of vectors b, [..., n], is jax's.

  jax.scipy.linalg solves with such a b, and warns that it will be a matrix.
  """
  are_vectors = 1 < np.ndim(b) == np.ndim(a) - 1
  if are_vectors and np.shape(b)[-1] == np.shape(a)[-1]:
    return None
  return systems(a, b)


def adjoint(x: jax.Array) -> jax.Array:
  """Returns the conjugate transposes of matrices."""
  return jnp.conj(x.mT) if jnp.iscomplexobj(x) else x.mT


def identity(n: int, like: jax.Array) -> jax.Array:
  return jnp.eye(n, dtype=like.dtype)
