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

from jax_ffi_ops.kit.testing import devices

devices.force()


class CacheTest(absltest.TestCase):

  def test_ops_that_differ_in_their_name_alone(self):
    folder = self.enter_context(tempfile.TemporaryDirectory())
    for name, value in {
        "jax_compilation_cache_dir": folder,
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # What of jax's flags takes most out of the key.
        "jax_compilation_cache_include_metadata_in_key": False,
        "jax_remove_custom_partitioning_ptr_from_cache_key": True,
    }.items():
      self.addCleanup(jax.config.update, name, getattr(jax.config, name))
      jax.config.update(name, value)
    hits = []
    monitoring.register_event_listener(
        lambda event, **_: hits.append(event.endswith("/cache_hits"))
    )
    x = np.ones((8, 4), np.float32)
    w = np.ones(4, np.float32)
    split = NamedSharding(devices.mesh(a=4), P("a"))
    for placed in (x, jax.device_put(x, split)):
      for name, scale in (("test_sound", 1), ("test_wrong_value", 1.001)):
        for expected_hit in (False, True):
          op = declare(name)
          hits.clear()
          y = jax.jit(lambda *operands: op(*operands))(placed, w)
          np.testing.assert_array_equal(y, scale * x)
          self.assertEqual(any(hits), expected_hit, name)


if __name__ == "__main__":
  absltest.main()
