#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compile.sh OBJECT NVCC OPTION...: compiles a .cu file.
#
# Objects name nvcc's temporary files, whose own names have the number of the
# process; those of files that it keeps have not. nvcc has to be called by a
# relative path: it finds all else beside itself.
set -eu
kept=$1.kept
shift
mkdir -p "$kept"
trap 'rm -rf "$kept"' EXIT
"$@" --keep --keep-dir="$kept"
