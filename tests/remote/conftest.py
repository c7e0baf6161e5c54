# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of here: the test needs packages of its own."""

collect_ignore = ["server_test.py"]
