# SPDX-License-Identifier: Apache-2.0
"""The timing harness: of the doctor, of //benchmarks and of examples/demo."""
