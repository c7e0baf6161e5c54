# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ of an op from its reference, in a build action.

It imports the file that declares the op. The op's library does not exist yet:
kit.Library loads nothing then.
"""

import importlib.util
import json
import pathlib
import sys

from jax_ffi_ops.kit.op import find
from jax_ffi_ops.loops import errors
from jax_ffi_ops.loops import handler
from jax_ffi_ops.loops import kernels


def main(source: str, cc: str, cores_json: str, request: str) -> None:
  """Writes the C++ and the list of cores.

  Args:
    source: the Python file that declares the op.
    cc: the file of C++ to write.
    cores_json: the list to write.
    request: JSON of `op`, its name with the library's prefix; `cores`, a list
      of sizes and attributes; `least_rows`, for each of them; `shared`, a list
      of operands; `handlers`, the FFI targets.
  """
  request = json.loads(request)
  cores = request["cores"]
  least_rows = request["least_rows"] or [[1, 1]] * len(cores)
  op = _declared(source, request["op"])
  passes = {
      target: kernels.kernels_of(
          op, cores, request["shared"], target.endswith("_bwd")
      )
      for target in request["handlers"]
  }
  pathlib.Path(cc).write_text(handler.text(op, passes))
  compiled = [
      {
          "operands": [[x.dtype.name, [_size(k, d) for d in x.dims]]
                       for x in k.operands],
          "attributes": k.attributes,
          "least_rows": least_rows[cores.index(k.core)],
      }
      for k in next(iter(passes.values()))
  ]  # fmt: skip
  text = json.dumps({request["op"]: compiled})
  pathlib.Path(cores_json).write_text(text)


def _size(kernel, dim):
  return int(dim) if dim.isdigit() else kernel.core.get(dim)


def _declared(source, name):
  """Imports a Python file and returns the op of this name in it."""
  module = "__declaration__"  # Its own name may be that of another: random.py.
  spec = importlib.util.spec_from_file_location(module, source)
  loaded = importlib.util.module_from_spec(spec)
  sys.modules[module] = loaded
  spec.loader.exec_module(loaded)
  op = find(name)
  if op is None:
    raise errors.Unsupported(f"{source} declares no op {name!r}")
  return op.declaration


if __name__ == "__main__":
  try:
    main(*sys.argv[1:])
  except errors.Unsupported as e:
    sys.exit(f"error: this cannot be compiled: {e}")
