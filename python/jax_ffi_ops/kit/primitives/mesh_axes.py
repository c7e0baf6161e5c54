# SPDX-License-Identifier: Apache-2.0
"""The axes of a mesh, split into prime factors and in the order XLA uses."""

from collections.abc import Mapping
import itertools

from jax.sharding import AbstractMesh
from jax.sharding import AxisType
import numpy as np

Axes = Mapping[str, int]  # names and sizes


def mesh(axes: Axes) -> AbstractMesh:
  """Returns the mesh with these axes."""
  return AbstractMesh(tuple(axes.values()), tuple(axes))


def automatic(mesh: AbstractMesh) -> Axes:
  """Returns the axes that XLA may split arrays over."""
  return {
      name: size
      for (name, size), kind in zip(mesh.shape.items(), mesh.axis_types)
      if kind == AxisType.Auto and size > 1
  }


def prime_factors(mesh: AbstractMesh) -> tuple[Axes, Axes]:
  """Returns the prime factors of all axes, and those of automatic ones.

  XLA may split an array over a part of an axis, say a reshaped one, and the
  user's names cannot say so.
  """
  names = map("factor{}".format, itertools.count())
  everything, own = {}, {}
  for axis, size in mesh.shape.items():
    factors = {next(names): factor for factor in _prime_factors(size)}
    everything |= factors
    if axis in automatic(mesh):
      own |= factors
  return everything, own


def _prime_factors(size):
  factors = []
  factor = 2
  while size > 1:
    if size % factor:
      factor += 1
    else:
      factors.append(factor)
      size //= factor
  return factors


def in_order(axes: Axes, numbers: np.ndarray | None) -> Axes | None:
  """Returns axes in the order in which they number the devices of a mesh.

  Args:
    axes: of the mesh, in any order.
    numbers: of the devices, by their places on these axes.

  Returns:
    First the axis along which numbers differ most, last the one along which
    they are consecutive. None if no order of the axes gives these numbers.
  """
  if numbers is None:
    return None
  names = list(axes)
  numbers = numbers.reshape(*axes.values())
  steps = [numbers.take(1, axis).flat[0] for axis in range(len(names))]
  order = sorted(range(len(names)), key=lambda axis: -steps[axis])
  if (numbers.transpose(order).flat != np.arange(numbers.size)).any():
    return None
  return {names[axis]: axes[names[axis]] for axis in order}
