# SPDX-License-Identifier: Apache-2.0
"""What an op has to do under each transformation: classes of tests."""
