# SPDX-License-Identifier: Apache-2.0
"""Which versions of things this installation has, for the doctor's report."""

from collections.abc import Iterator
import platform
import sysconfig

import jax
import jaxlib

from jax_ffi_ops.doctor import cuda_versions
from jax_ffi_ops.doctor.report import Line
from jax_ffi_ops.kit import cpu
from jax_ffi_ops.kit.load import abi

_THREADS = ""
if sysconfig.get_config_var("Py_GIL_DISABLED"):
  _THREADS = " (free-threaded, which is not supported: nothing was tried on it)"


def lines() -> Iterator[Line]:
  """Yields what there is: jax, Python, the FFI API, the level of the CPU."""
  newest = "{}.{}".format(*abi.runtime_api())
  oldest = "{}.{}".format(*abi.OLDEST_API)
  yield (
      f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, Python"
      f" {platform.python_version()}{_THREADS}"
  ), None
  yield (
      f"XLA FFI API {newest} (headers in {jax.ffi.include_dir()}); accepted are"
      f" handlers compiled for {oldest} to {newest}"
  ), None
  level = cpu.NAMES.get(cpu.cpu_level(), "not x86-64")
  yield f"CPU kernels are those for {level}", None


def gpu_lines() -> Iterator[Line]:
  """Yields whether the driver is new enough for jax itself."""
  plugins = cuda_versions.plugins()
  driver = cuda_versions.driver()
  if driver or plugins:
    known = "for CUDA {}.{}".format(*driver) if driver else "none"
    names = ", ".join(plugins) or "none"
    yield f"CUDA driver: {known}; plugin of jax: {names}", None
  for name, cuda in plugins.items():
    if lack := cuda_versions.lack(driver, cuda):
      yield f"  {name}: {lack}", False
