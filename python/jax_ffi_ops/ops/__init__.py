# SPDX-License-Identifier: Apache-2.0
"""The ops, a module each: its public function and its declaration."""
