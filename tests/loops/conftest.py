# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of here.

These tests call C++ handlers of their own, which only Bazel builds and puts
beside them; no wheel has them.
"""

collect_ignore_glob = ["*_test.py"]
