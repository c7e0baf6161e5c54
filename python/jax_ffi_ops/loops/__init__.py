# SPDX-License-Identifier: Apache-2.0
"""From the jaxpr of a reference to the C++ of its handlers."""
