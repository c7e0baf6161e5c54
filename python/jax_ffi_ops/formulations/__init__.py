# SPDX-License-Identifier: Apache-2.0
"""Functions that have no handler of their own: they are made of ops."""
