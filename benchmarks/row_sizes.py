# SPDX-License-Identifier: Apache-2.0
"""Sizes of the ops of rows: rows x columns."""

# Small ones first; wide rows, and more and more rows.
SIZES = (
    "8x4",
    "128x512",
    "16x1024",
    "256x1024",
    "1024x1024",
    "64x65536",
    "4096x1024",
    "2048x4096",
    "16384x1024",
)
GPU_SIZES = (
    "4096x512",
    # As many elements in rows of every width, and what is large.
    "65536x1024",
    "32768x2048",
    "16384x4096",
    "8192x8192",
    "4096x16384",
    "2048x32768",
    "1024x65536",
    "512x131072",
    "256x262144",
    "64x262144",
    "8192x4096",
    "16384x8192",
    "65536x8192",
)
