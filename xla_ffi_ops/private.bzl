# SPDX-License-Identifier: Apache-2.0
"""What only this repository's own BUILD files use."""

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
