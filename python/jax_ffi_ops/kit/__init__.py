# SPDX-License-Identifier: Apache-2.0
"""The authoring kit: from a shared object of FFI handlers to JAX ops.

  library = kit.Library(pathlib.Path(__file__).with_name("libmy_ext.so"))
  my_op = kit.op("my_op", library=library, signature="(d),(d)->()", ...)

`my_op` then behaves like a function of jax.numpy under every transformation.
"""

from typing import Any

from jax_ffi_ops.kit._jax import abstract_token as abstract_token
from jax_ffi_ops.kit.build import build as build
from jax_ffi_ops.kit.calls.choice import using as using
from jax_ffi_ops.kit.cpu import cpu_level as cpu_level
from jax_ffi_ops.kit.declare.attributes import Attribute as Attribute
from jax_ffi_ops.kit.declare.groups import Buffers as Buffers
from jax_ffi_ops.kit.declare.groups import Choice as Choice
from jax_ffi_ops.kit.declare.groups import Derivatives as Derivatives
from jax_ffi_ops.kit.declare.groups import Operand as Operand
from jax_ffi_ops.kit.declare.groups import Results as Results
from jax_ffi_ops.kit.declare.split import Split as Split
from jax_ffi_ops.kit.dtypes import accumulator as accumulator
from jax_ffi_ops.kit.dtypes import FLOATING as FLOATING
from jax_ffi_ops.kit.dtypes import NUMBERS as NUMBERS
from jax_ffi_ops.kit.dtypes import ORDERED as ORDERED
from jax_ffi_ops.kit.explaining import explain as explain
from jax_ffi_ops.kit.faster import faster_for_rows as faster_for_rows
from jax_ffi_ops.kit.faster import Least as Least
from jax_ffi_ops.kit.ffi_call import call as call
from jax_ffi_ops.kit.function import Op as Op
from jax_ffi_ops.kit.function import ops_of as ops_of
from jax_ffi_ops.kit.function import public as public
from jax_ffi_ops.kit.load.library import Library as Library
from jax_ffi_ops.kit.op import op as op


def export_checks(*functions: Any) -> list:
  """Returns the `disabled_checks` with which jax.export exports these ops.

  jax.export refuses custom calls that it does not know to be stable. Those of
  an op can be called wherever a library with its targets is loaded.

  Args:
    *functions: ops, or functions that are marked by `kit.public`.
  """
  from jax import export  # Few programs need it, and importing it takes time.

  return [
      export.DisabledSafetyCheck.custom_call(target)
      for function in functions
      for op_ in ops_of(function)
      for target in op_.targets
  ]
