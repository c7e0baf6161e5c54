# SPDX-License-Identifier: Apache-2.0
"""An op's three JAX primitives: their rules and their lowering."""
