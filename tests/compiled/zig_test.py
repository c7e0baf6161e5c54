# SPDX-License-Identifier: Apache-2.0
"""What the ziglang wheel compiles passes the tests of what g++ compiles."""

import importlib.util
import os
import pathlib
from unittest import mock

from absl.testing import absltest

# These are tests; they run here, too.
from compile_test import *  # noqa: F403
from complex_test import *  # noqa: F403
from matrices_test import *  # noqa: F403

_STARTED = mock.patch.dict(os.environ)


def setUpModule():
  _STARTED.start()
  (home,) = importlib.util.find_spec("ziglang").submodule_search_locations
  os.environ["JAX_FFI_OPS_CXX"] = f"{pathlib.Path(home) / 'zig'} c++"


def tearDownModule():
  _STARTED.stop()


if __name__ == "__main__":
  absltest.main()
