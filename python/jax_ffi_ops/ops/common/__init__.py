# SPDX-License-Identifier: Apache-2.0
"""What several ops have in common."""
