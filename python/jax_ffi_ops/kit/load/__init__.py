# SPDX-License-Identifier: Apache-2.0
"""Shared objects of handlers: loading, symbols, registration, the C ABI."""
