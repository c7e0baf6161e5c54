# SPDX-License-Identifier: Apache-2.0
"""The words of a declaration: signature, attributes, functions, checks."""
