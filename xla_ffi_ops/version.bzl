# SPDX-License-Identifier: Apache-2.0
"""The version of this repository; MODULE.bazel, which can load nothing, has it again."""

VERSION = "0.1.0"
