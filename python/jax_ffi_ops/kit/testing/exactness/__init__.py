# SPDX-License-Identifier: Apache-2.0
"""How far a result may be from its definition."""
