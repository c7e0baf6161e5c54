# SPDX-License-Identifier: Apache-2.0
"""For pytest, where all tests share a process."""

import pathlib
import sys

from absl import flags

from jax_ffi_ops.kit.testing.cases import devices

# Tests in other folders use own_case.py and python_process.py.
_TESTS = pathlib.Path(__file__).parent
sys.path += [str(_TESTS), str(_TESTS / "ops")]
# Some tests need several.
devices.force()
# absltest's temporary folders are flags, which its own main would parse.
flags.FLAGS.mark_as_parsed()
