# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of here: only Bazel builds what these tests read."""

collect_ignore_glob = ["*_test.py"]
