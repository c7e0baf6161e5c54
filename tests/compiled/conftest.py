# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest from the tests of packages, which Bazel alone brings."""

collect_ignore = ["packages_test.py"]
