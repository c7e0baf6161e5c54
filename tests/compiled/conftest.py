# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest from tests whose packages Bazel alone brings."""

collect_ignore = ["packages_test.py", "zig_test.py"]
