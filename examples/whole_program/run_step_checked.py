# SPDX-License-Identifier: Apache-2.0
"""run_step with the kit's loader.

It checks that this jaxlib accepts the handlers, that no other library has their
names, and registers them for CPU and CUDA.
"""

import json
import pathlib
import sys

import run_step

from jax_ffi_ops import kit


def register(folder: pathlib.Path) -> None:
  """Registers the handlers of a folder.

  Raises:
    ImportError: a library or a handler is missing or does not fit this jaxlib.
  """
  libraries = json.loads((folder / "targets.json").read_text())
  for name, targets in libraries.items():
    library = kit.Library(folder / name)
    for target in targets:
      library.register(target)


if __name__ == "__main__":
  register(pathlib.Path(sys.argv[1]))
  print(*run_step.run(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
