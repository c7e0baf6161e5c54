# SPDX-License-Identifier: Apache-2.0
"""Keeps plain pytest out of what needs shared objects that Bazel builds."""

collect_ignore = [
    "doctor_verdict_test.py",
    "foreign_doctor_test.py",
    "hostile_doctor_test.py",
    "object_file_test.py",
]
