# SPDX-License-Identifier: Apache-2.0
"""The ops of faulty_rows_ffi.cc: what direct calls and many rows can show."""

import functools

import jax.numpy as jnp
import numpy as np

from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing import Case
from jax_ffi_ops.kit.testing import Operand
from ops import library


def _name(target):
  return target.removeprefix(library.prefix)


def _reference(x, w, *, factor):
  return factor * (x if w is None else x * w), jnp.sum(x)


def _definition(x, w, *, factor):
  terms = x.shape[-1]
  y = factor * (x if w is None else x * w)
  return y, x.sum(-1, additions=terms)


@functools.cache
def rows(name: str) -> Case:
  """Returns a case of y = factor x w with the residual total = sum(x)."""
  op = kit.op(
      _name(name),
      library=library,
      signature="(n),(n)?->(n),()",
      attributes={"factor": np.float32},
      dtypes=("float32",),
      operands={"w": kit.Operand(weight_of="x")},
      derivatives=kit.Derivatives(residuals=("total",)),
      reference=_reference,
  )
  operands = [Operand((4,)), Operand((4,))]
  return Case(op, operands, attributes={"factor": 2.0}, definition=_definition)


@functools.cache
def trailing(name: str) -> Case:
  """Returns a case of y[i] = i x[i] along any axis."""
  op = kit.op(
      _name(name),
      library=library,
      signature="(n,*)->(n,*)",
      dtypes=("float32",),
      reference=lambda x: x * jnp.arange(x.size, dtype=x.dtype),
  )
  return Case(op, [Operand((4,))])
