# SPDX-License-Identifier: Apache-2.0
"""Generated programs that jax_ffi_ops.compile compiles, each by itself."""

import os

import generated
import jax

from jax_ffi_ops.compiled import compile  # pylint: disable=redefined-builtin


def _compiled(function):
  return jax.vmap(compile(function, least_rows=(1, 1), strict=True))


_functions = list(map(_compiled, generated.functions(int(os.environ["GROUP"]))))


def op(*arrays):
  """Calls each program with two of the arrays; returns all results."""
  pairs = zip(arrays[::2], arrays[1::2], strict=True)
  return tuple(y for f, pair in zip(_functions, pairs) for y in f(*pair))
