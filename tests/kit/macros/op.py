# SPDX-License-Identifier: Apache-2.0
"""The Python of an op: here, none."""
