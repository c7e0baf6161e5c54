# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ of an op from its reference, in a build action.

It imports the file that declares the op. The op's library does not exist yet,
so nothing is loaded.
"""

import argparse
import importlib.util
import json
import pathlib
import sys

from jax_ffi_ops.kit.emit import errors
from jax_ffi_ops.kit.emit import handler
from jax_ffi_ops.kit.emit import kernels
from jax_ffi_ops.kit.load.library import loading_nothing
from jax_ffi_ops.kit.op import find


def main(arguments: list[str]) -> None:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--source", required=True, help="the Python file")
  parser.add_argument("--op", required=True, help="with the library's prefix")
  parser.add_argument("--cores", required=True, help="JSON, a list of sizes")
  parser.add_argument("--least_rows", default="[]", help="JSON, for each core")
  parser.add_argument("--shared", default="[]", help="JSON, a list of operands")
  parser.add_argument("--handlers", required=True, help="JSON, FFI targets")
  parser.add_argument("--cc", required=True, help="the file to write")
  parser.add_argument(
      "--json", required=True, help="the list of cores to write"
  )
  options = parser.parse_args(arguments)
  cores = json.loads(options.cores)
  shared = json.loads(options.shared)
  least_rows = json.loads(options.least_rows) or [[1, 1]] * len(cores)
  with loading_nothing():
    op = _declared(options.source, options.op)
  passes = {}
  for target in json.loads(options.handlers):
    found = kernels.kernels_of(op, cores, shared, target.endswith("_bwd"))
    passes[target] = found
  pathlib.Path(options.cc).write_text(handler.text(op, passes))
  compiled = [
      {
          "operands": [[x.dtype.name, [_size(k, d) for d in x.dims]]
                       for x in k.operands],
          "least_rows": least_rows[cores.index(k.core)],
      }
      for k in next(iter(passes.values()))
  ]  # fmt: skip
  pathlib.Path(options.json).write_text(json.dumps({options.op: compiled}))


def _size(kernel, dim):
  return int(dim) if dim.isdigit() else kernel.core.get(dim)


def _declared(source, name):
  """Imports a Python file and returns the op of this name in it."""
  module = pathlib.Path(source).stem
  spec = importlib.util.spec_from_file_location(module, source)
  loaded = importlib.util.module_from_spec(spec)
  sys.modules[module] = loaded
  spec.loader.exec_module(loaded)
  op = find(name)
  if op is None:
    raise ValueError(f"{source} declares no op {name!r}.")
  return op.declaration


if __name__ == "__main__":
  try:
    main(sys.argv[1:])
  except errors.Unsupported as e:
    sys.exit(f"error: this cannot be compiled: {e}")
