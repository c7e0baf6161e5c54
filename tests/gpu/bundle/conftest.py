# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of here: Bazel alone makes the bundle."""

collect_ignore_glob = ["*_test.py"]
