#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if an action finds a compiler, a header, Python or a network.
for name in ar as c++ cc clang g++ gcc ld nvcc perl pyenv python python3; do
  type "$name" && exit 1
done
find / -xdev -path /work -prune -o \( -name '*.h' -o -name 'python*' -o -name 'gcc*' \) -print |
  grep . && exit 2
tail -n +3 /proc/net/dev | grep -v lo: && exit 3
exit 0
