# SPDX-License-Identifier: Apache-2.0
"""Ops with one fault each in Python: y = x w, with sound handlers."""

from collections.abc import Callable
import functools
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp

from jax_ffi_ops import kit
from jax_ffi_ops.kit.calls import loop_axes
from jax_ffi_ops.kit.primitives import lowering
from ops import library


@functools.cache
def declare(name: str) -> kit.Op:
  """Declares the op of faulty_ffi.cc that has this name."""
  return kit.op(
      name.removeprefix("test_"),
      library=library,
      signature="(n),(n)->(n)",
      operands={"w": kit.Operand(parameter=True)},
      dtypes=("float32",),
      reference=lambda x, w: x * w,
  )


def with_fault(owner: type, method: str, faulty: Callable) -> Any:
  """Returns a context in which a method is replaced by `faulty`.

  That is called with the method's object, the method and its arguments.
  """
  original = getattr(owner, method)

  def replaced(self, *args, **kwargs):
    return faulty(self, original, *args, **kwargs)

  return mock.patch.object(owner, method, replaced)


def reversing(self, original, operands, axes, *, call):
  """Returns the results of the last example first."""
  results, axes = original(self, operands, axes, call=call)
  return [result[::-1] for result in results], axes


def copying(self, original, operands, axes, *, call):
  """Copies for each example what all of them share."""
  size = next(x.shape[a] for x, a in zip(operands, axes) if a is not None)
  copied = [
      jnp.broadcast_to(x, (size, *x.shape)) if axis is None else x
      for x, axis in zip(operands, axes)
  ]
  return original(self, copied, [axis or 0 for axis in axes], call=call)


def looping(self, original, operands, axes, *, call):
  """Makes one call per example."""
  del original
  moved = [
      x if axis is None else jnp.moveaxis(x, axis, 0)
      for x, axis in zip(operands, axes)
  ]

  def one_call(index):
    one = [x if a is None else x[index] for x, a in zip(moved, axes)]
    return self(*one, call=call)

  size = next(x.shape[0] for x, a in zip(moved, axes) if a is not None)
  results = jax.lax.map(one_call, jnp.arange(size))
  return results, [0] * len(results)


def computing_again(self, original, operands, tangents, *, call):
  """Calls the forward handler for the tangents too."""
  results, tangents = original(self, operands, tangents, call=call)
  (again,) = self(*operands, call=call)
  return results, [tangents[0] * (1 + 0 * again)]


class _WithoutSums(loop_axes.LoopAxes):

  def summed(self, result):
    del result
    return []


def without_sums(self, original, arrays):
  """Takes a device's part of a sum for the sum."""
  found = original(self, arrays)
  return _WithoutSums(found.operands, found.results, found.rank)


def whole(self, original, arrays):
  """Wants the whole operands on every device."""
  found = original(self, arrays)
  return loop_axes.LoopAxes(
      [(None,) * len(axes) for axes in found.operands],
      [(None,) * len(axes) for axes in found.results],
      0,
  )


def declare_without_calling_backward(name: str) -> kit.Op:
  """Declares the op such that its backward handler is not used."""
  register = lowering.register

  def forward_only(primitive, reference, *handler, **options):
    if primitive.name.endswith("_bwd"):
      handler = ()
    register(primitive, reference, *handler, **options)

  with mock.patch.object(lowering, "register", forward_only):
    return declare(name)
