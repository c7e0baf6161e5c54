# SPDX-License-Identifier: Apache-2.0
"""What is tested: cases, definitions, devices and compiled programs."""
