# SPDX-License-Identifier: Apache-2.0
"""The conformance suite: does an op do what every op of the kit has to?

  from absl.testing import absltest
  from jax_ffi_ops.kit import testing

  class MatVecTest(testing.ConformanceTest):
    case = testing.Case(
        matvec, [testing.Operand((4, 16)), testing.Operand((16,))]
    )

  if __name__ == "__main__":
    absltest.main()

It compares the op, under each transformation of JAX, with a definition in plain
jax.numpy under the same transformation, and looks into the compiled programs
where they matter: no copies under vmap, no recomputation in reverse mode, no
communication that is not needed. A case takes about 10 seconds; for further
dtypes of an op, `ValuesTest` and `DerivativesTest` say nearly all. With the
environment variable JAX_FFI_OPS_THOROUGH_TESTS=1 it takes several times as
long, and tries all meshes, sizes, dtypes and axes together.

Handlers run also where `is_faster` says that the reference is faster. In tests
of your own, `kit.using("handler if served")` has this effect.

The import asks JAX for 8 CPU devices and has to come before its first use.
"""

import gc

from jax_ffi_ops.kit.testing.cases import devices
from jax_ffi_ops.kit.testing.cases.case import Case as Case
from jax_ffi_ops.kit.testing.cases.case import Operand as Operand
from jax_ffi_ops.kit.testing.conformance.base import Base
from jax_ffi_ops.kit.testing.conformance.batching import (
    BatchingTest as BatchingTest,
)
from jax_ffi_ops.kit.testing.conformance.control_flow import (
    ControlFlowTest as ControlFlowTest,
)
from jax_ffi_ops.kit.testing.conformance.derivatives import (
    DerivativesTest as DerivativesTest,
)
from jax_ffi_ops.kit.testing.conformance.dtypes import DTypesTest as DTypesTest
from jax_ffi_ops.kit.testing.conformance.memory import MemoryTest as MemoryTest
from jax_ffi_ops.kit.testing.conformance.partitioning import (
    PartitioningTest as PartitioningTest,
)
from jax_ffi_ops.kit.testing.conformance.public_calls import (
    PublicCallTest as PublicCallTest,
)
from jax_ffi_ops.kit.testing.conformance.second_order import (
    SecondOrderTest as SecondOrderTest,
)
from jax_ffi_ops.kit.testing.conformance.shard_maps import (
    ShardMapTest as ShardMapTest,
)
from jax_ffi_ops.kit.testing.conformance.some_axes import (
    SomeAxesTest as SomeAxesTest,
)
from jax_ffi_ops.kit.testing.conformance.values import ValuesTest as ValuesTest
from jax_ffi_ops.kit.testing.direct.determinism import (
    DeterminismTest as DeterminismTest,
)
from jax_ffi_ops.kit.testing.direct.handlers import HandlerTest as HandlerTest
from jax_ffi_ops.kit.testing.exactness.bounded import Bounded as Bounded

devices.force()
# A fifth of the time went into looking for garbage among what jax keeps.
gc.freeze()
gc.set_threshold(100_000, 50, 50)


class ConformanceTest(
    ValuesTest,
    MemoryTest,
    BatchingTest,
    DerivativesTest,
    SecondOrderTest,
    ControlFlowTest,
    PartitioningTest,
    ShardMapTest,
):
  """All of the suite, for the op of the class attribute `case`."""

  needs_reference = Base.needs_reference  # Whatever parts of a subclass need.


class OpTest(
    ConformanceTest,
    SomeAxesTest,
    DTypesTest,
    HandlerTest,
    DeterminismTest,
    PublicCallTest,
):
  """All there is to test of an op that its declaration and case can say."""
