# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of here: only Bazel builds these objects."""

collect_ignore_glob = ["*_test.py"]
