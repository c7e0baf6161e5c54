# SPDX-License-Identifier: Apache-2.0
"""What of each kernel the GPU runs at once, as CUDA's driver tells it.

  occupancy.py [--driver=libcuda.so.1] [LIBRARY.so ...]

By default the libraries are those of the ops. A line has registers and bytes of
local memory per thread, threads of the largest block, how many of these run on
a multiprocessor, and how many clusters of 2, 4, 8 and 16 of them on the GPU.
Shared memory that a launch asks for is not counted.
"""

import argparse
import ctypes
import os
import pathlib
import re
import struct
import sys

_OPS = pathlib.Path(__file__).parents[2] / "python" / "jax_ffi_ops" / "ops"
# The header of CUDA's fat binaries: magic number, version, its own size.
_HEADER = struct.pack("<IHH", 0xBA55ED50, 1, 16)
_CLUSTERS = (2, 4, 8, 16)

# Of cuda.h.
_MAX_THREADS, _LOCAL_BYTES, _REGISTERS, _NON_PORTABLE_CLUSTERS = 0, 3, 4, 14
_CLUSTER_DIMENSION = 4


class _Attribute(ctypes.Structure):
  """CUlaunchAttribute."""

  _fields_ = (
      ("id", ctypes.c_int),
      ("padding", ctypes.c_char * 4),
      ("value", ctypes.c_uint * 16),
  )


class _Config(ctypes.Structure):
  """CUlaunchConfig."""

  _fields_ = (
      ("grid", ctypes.c_uint * 3),
      ("block", ctypes.c_uint * 3),
      ("shared_bytes", ctypes.c_uint),
      ("stream", ctypes.c_void_p),
      ("attributes", ctypes.POINTER(_Attribute)),
      ("attribute_count", ctypes.c_uint),
  )


class Driver:
  """The functions of CUDA's driver; raises RuntimeError if one fails."""

  def __init__(self, path: str):
    # Else a kernel is loaded when it is first launched, and tells nothing.
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    try:
      self._library = ctypes.CDLL(path)
    except OSError as error:
      raise RuntimeError(str(error)) from error
    context = ctypes.c_void_p()
    self._call("cuInit", 0)
    self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    self._call("cuCtxSetCurrent", context)

  def _call(self, name, *args):
    if error := self._library[name](*args):
      raise RuntimeError(f"{name} returns {error}")

  def _number(self, name, *args):
    number = ctypes.c_int()
    self._call(name, ctypes.byref(number), *args)
    return number.value

  def kernels(self, image: bytes) -> list[ctypes.c_void_p]:
    """Returns the kernels of a fat binary, which is loaded."""
    module = ctypes.c_void_p()
    self._call("cuModuleLoadData", ctypes.byref(module), image)
    count = self._number("cuModuleGetFunctionCount", module)
    kernels = (ctypes.c_void_p * count)()
    self._call("cuModuleEnumerateFunctions", kernels, count, module)
    return [ctypes.c_void_p(kernel) for kernel in kernels]

  def name(self, kernel: ctypes.c_void_p) -> str:
    name = ctypes.c_char_p()
    self._call("cuFuncGetName", ctypes.byref(name), kernel)
    return _demangled(name.value)

  def attribute(self, kernel: ctypes.c_void_p, attribute: int) -> int:
    return self._number("cuFuncGetAttribute", attribute, kernel)

  def blocks(self, kernel: ctypes.c_void_p, threads: int) -> int:
    """Returns how many blocks run on a multiprocessor at once."""
    size = ctypes.c_size_t(0)
    name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
    return self._number(name, kernel, threads, size)

  def clusters(self, kernel: ctypes.c_void_p, threads: int, size: int) -> int:
    """Returns how many clusters run at once; 0 if none can."""
    attribute = _Attribute(_CLUSTER_DIMENSION, b"", (size, 1, 1))
    config = _Config(
        grid=(size, 1, 1),
        block=(threads, 1, 1),
        attributes=ctypes.pointer(attribute),
        attribute_count=1,
    )
    try:
      self._call("cuFuncSetAttribute", kernel, _NON_PORTABLE_CLUSTERS, 1)
      name = "cuOccupancyMaxActiveClusters"
      return self._number(name, kernel, ctypes.byref(config))
    except RuntimeError:  # Neither has the device clusters of every size.
      return 0


def _demangled(name: bytes) -> str:
  """Returns a short form of a C++ name, or the name."""
  library = ctypes.CDLL("libstdc++.so.6")
  library.__cxa_demangle.restype = ctypes.c_char_p
  text = library.__cxa_demangle(name, None, None, None) or name
  text = re.sub(
      r"\b(void|xla_ffi_ops::|\(anonymous namespace\)::) ?", "", text.decode()
  )
  return text.partition("(")[0]


def images(content: bytes) -> list[bytes]:
  """Returns the fat binaries of a shared object."""
  found = []
  for match in re.finditer(re.escape(_HEADER), content):
    (size,) = struct.unpack_from("<Q", content, match.end())
    found.append(content[match.start() : match.end() + 8 + size])
  return found


def report(driver: Driver, path: pathlib.Path) -> int:
  """Prints a line for each kernel of a library; returns how many spill."""
  spilling = 0
  for image in images(path.read_bytes()):
    lines = []
    for kernel in driver.kernels(image):
      threads = driver.attribute(kernel, _MAX_THREADS)
      local = driver.attribute(kernel, _LOCAL_BYTES)
      spilling += local > 0
      clusters = [driver.clusters(kernel, threads, n) for n in _CLUSTERS]
      lines.append(
          f"  {driver.attribute(kernel, _REGISTERS):>3} registers, {local} local,"
          f" {threads:>4} threads, {driver.blocks(kernel, threads):>2} blocks,"
          f" {'/'.join(map(str, clusters))} clusters: {driver.name(kernel)}"
      )
    print(*sorted(lines, key=lambda line: line.partition(":")[2]), sep="\n")
  return spilling


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--driver", default="libcuda.so.1")
  parser.add_argument("libraries", nargs="*", type=pathlib.Path)
  options = parser.parse_args()
  try:
    driver = Driver(options.driver)
  except RuntimeError as error:
    sys.exit(f"not run: {error}")
  spilling = 0
  for path in options.libraries or sorted(_OPS.glob("*.so")):
    print(path.name)
    spilling += report(driver, path)
  print(f"{spilling} kernels have local memory")


if __name__ == "__main__":
  main()
