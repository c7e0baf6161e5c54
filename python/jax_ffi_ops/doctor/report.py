# SPDX-License-Identifier: Apache-2.0
"""What the doctor's report consists of."""

# A line, and whether it tells of something that was tried and is well (True),
# of something wrong (False), or neither (None).
Line = tuple[str, bool | None]
