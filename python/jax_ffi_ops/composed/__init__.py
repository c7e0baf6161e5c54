# SPDX-License-Identifier: Apache-2.0
"""Functions without a handler of their own: they are made of ops and of jax."""
