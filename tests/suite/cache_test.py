# SPDX-License-Identifier: Apache-2.0
"""The persistent compilation cache never takes one op for another."""

import tempfile

from absl.testing import absltest
from faulty_ops import declare
import jax
from jax import monitoring
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.testing.cases import devices

devices.force()


class CacheTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # One folder for all tests, since jax asks for it once. So each test has
    # arrays of its own shape.
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    for name, value in {
        "jax_compilation_cache_dir": folder,
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # What of jax's flags takes most out of the key.
        "jax_compilation_cache_include_metadata_in_key": False,
        "jax_remove_custom_partitioning_ptr_from_cache_key": True,
    }.items():
      cls.addClassCleanup(jax.config.update, name, getattr(jax.config, name))
      jax.config.update(name, value)
    cls._hits = hits = []
    listener = lambda event, **_: hits.append(event.endswith("/cache_hits"))
    monitoring.register_event_listener(listener)
    cls.addClassCleanup(monitoring.unregister_event_listener, listener)

  def setUp(self):
    super().setUp()
    self.enter_context(kit.using("handler if served"))

  def _check(self, x, calls):
    """Each call compiles once, and has its own results, on 1 and 4 devices.

    Args:
      x: the operand.
      calls: functions of it, and their results.
    """
    split = NamedSharding(devices.mesh(a=4), P("a"))
    for placed in (x, jax.device_put(x, split)):
      for function, expected in calls:
        for expected_hit in (False, True):
          self._hits.clear()
          # A new function: jax finds the old one without its cache on disk.
          y = jax.jit(lambda x, function=function: function(x))(placed)
          np.testing.assert_array_equal(y, expected)
          self.assertEqual(any(self._hits), expected_hit, function)

  def test_ops_that_differ_in_their_name_alone(self):
    x, w = np.ones((8, 4), np.float32), np.ones(4, np.float32)
    self._check(x, [
        (lambda x: declare("test_sound")(x, w), x),
        (lambda x: declare("test_wrong_value")(x, w), 1.001 * x),
    ])  # fmt: skip

  def test_calls_that_differ_in_an_attribute_alone(self):
    x = np.arange(96, dtype=np.float32).reshape(8, 12)
    self._check(x, [
        (lambda x: jax_ffi_ops.cumsum(x, axis=1), x.cumsum(1)),
        (lambda x: jax_ffi_ops.cumsum(x, axis=1, reverse=True),
         x[:, ::-1].cumsum(1)[:, ::-1]),
    ])  # fmt: skip

  def test_calls_that_differ_in_their_axis_alone(self):
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    self._check(x, [
        (lambda x: jax_ffi_ops.cumsum(x, axis=0), x.cumsum(0)),
        (lambda x: jax_ffi_ops.cumsum(x, axis=1), x.cumsum(1)),
    ])  # fmt: skip

  def test_calls_of_which_one_is_in_place(self):
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    self._check(x, [
        (lambda x: jax_ffi_ops.cummax(x, axis=1), x),
        (lambda x: jax_ffi_ops.cummax(x, axis=1, in_place=True), x),
    ])  # fmt: skip


if __name__ == "__main__":
  absltest.main()
