# SPDX-License-Identifier: Apache-2.0
"""One call of an op as a hashable value, and what follows from it."""
