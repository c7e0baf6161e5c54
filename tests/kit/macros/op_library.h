// SPDX-License-Identifier: Apache-2.0
// The formula of an op: here, none.
