# SPDX-License-Identifier: Apache-2.0
"""What is in the wheel; a test for pytest."""

import os
import zipfile


def test_files():
  with zipfile.ZipFile(os.environ["WHEEL"]) as wheel:
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
  assert names == ["libswish_ext.so", "swish.py"]
