# SPDX-License-Identifier: Apache-2.0
"""A pytree in and a pytree out, by a handler of a variable number of arrays."""

import pathlib
from typing import Any

import jax

from jax_ffi_ops import kit

_call = kit.call(
    "example_multiples",
    library=kit.Library(pathlib.Path(__file__).with_name("libtuples_ext.so")),
    results=lambda *xs: tuple(
        jax.ShapeDtypeStruct(x.shape, x.dtype) for x in xs
    ),
)


def multiples(tree: Any) -> Any:
  """Returns the tree with its first array, 2 times its second, and so on.

  Args:
    tree: a pytree of float32 arrays.

  Raises:
    jax.errors.JaxRuntimeError: an array has another dtype.
  """
  leaves, structure = jax.tree.flatten(tree)
  return jax.tree.unflatten(structure, _call(*leaves))
