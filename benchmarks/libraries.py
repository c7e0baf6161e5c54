# SPDX-License-Identifier: Apache-2.0
"""Peers of other libraries, where these are installed."""

from collections.abc import Callable, Mapping
import functools
import importlib
import importlib.util

import variants

# What to import of each library, for the functions of a case; and which module
# here makes their variants. Liger's kernels are written in Triton, QuACK's in
# CuTe.
_LIBRARIES = {
    "torch": ("torch.nn.functional", "torch_peers"),
    "torch.compile": ("torch.nn.functional", "torch_peers"),
    "liger": ("liger_kernel.transformers.functional", "torch_peers"),
    "quack": ("quack", "torch_peers"),
    "numpy": ("numpy", "numpy_peers"),
    "scipy": ("scipy.special", "numpy_peers"),
}


def _is_installed(name):
  module, _ = _LIBRARIES[name]
  return importlib.util.find_spec(module.partition(".")[0]) is not None


def makers(
    functions: Mapping[str, Callable],
) -> dict[str, Callable[..., variants.Variant | None]]:
  """Returns, by name, what makes the variants of a case's functions.

  Each is called with a pass and the sets of arrays. It returns None if the
  library has no such thing, and raises if that does not work.
  """

  def make(name, function, direction, sets):
    module, maker = map(importlib.import_module, _LIBRARIES[name])
    function = functools.partial(function, module)
    return maker.make(name, function, direction, sets)

  return {
      name: functools.partial(make, name, functions[key])
      for name in _LIBRARIES
      if (key := name.removesuffix(".compile")) in functions
      if _is_installed(name)
  }
