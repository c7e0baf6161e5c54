// SPDX-License-Identifier: Apache-2.0
// As much of libcuda.so.1 as the doctor asks, for a version that a test sets.
int version = 0;

int cuDriverGetVersion(int* found) {
  *found = version;
  return version == 0;  // As a stub does, where there is no driver.
}
