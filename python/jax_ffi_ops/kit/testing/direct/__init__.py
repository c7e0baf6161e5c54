# SPDX-License-Identifier: Apache-2.0
"""Direct calls of an op's handlers: right ones, and those that they refuse."""
