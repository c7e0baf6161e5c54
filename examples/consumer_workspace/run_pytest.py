# SPDX-License-Identifier: Apache-2.0
"""Runs pytest on the files that a py_test names in its `args`."""

import sys

import pytest

sys.exit(pytest.main(["-p", "no:cacheprovider", *sys.argv[1:]]))
