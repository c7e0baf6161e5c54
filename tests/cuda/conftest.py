# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of here.

These tests are of what --config=cuda builds, and Bazel tells them where it is.
"""

collect_ignore_glob = ["*_test.py"]
