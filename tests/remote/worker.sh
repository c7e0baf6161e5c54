#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The machine that actions see: a shell, coreutils and the
# libraries of C and C++; no compiler, no header, no Python and no network.
#   worker.sh image IMAGE         makes its root folder
#   worker.sh run IMAGE TREE ...  runs a command there, with TREE as /work
set -euo pipefail

PATH=$PATH:/usr/sbin:/sbin
image=$2
# What an action can start. A program of this machine that is not named here is
# not there.
programs=(
  awk basename bash cat chmod cksum cmp comm cp cut date diff dirname env expr
  false find grep gzip head hostname id kill ln ls mkdir mkfifo mktemp mv nproc
  od paste printf ps pwd readlink realpath rm rmdir sed seq sh sha256sum sleep
  sort split stat tail tar tee test touch tr true tty uname uniq wc which xargs
)
# C++ tests load these; no program above does. Those after the second are parts of
# glibc, and separate where objects were linked with an older one.
libraries=(libgcc_s libstdc++ libdl libm libpthread librt)

# copy PATH ...: copies what a link leads to, to the path of the link.
copy() {
  local path
  for path; do
    mkdir -p "$image${path%/*}"
    cp -L "$path" "$image$path"
  done
}

case $1 in
image)
  mkdir -p "$image"/{dev,etc,proc,tmp,usr/bin,usr/lib,usr/lib64,work}
  ln -s usr/{bin,lib,lib64} "$image"
  for program in "${programs[@]}"; do
    found=$(type -P "$program") && cp -L "$found" "$image/usr/bin/$program"
  done
  patterns=("${libraries[@]/%/.so.}")
  {
    ldd "$image"/usr/bin/* 2>/dev/null || true  # Some are scripts.
    ldconfig -p | grep x86-64 | grep -F "${patterns[@]/#/-e}"
  } | grep -o '/[^ ]*\.so[^ ]*' | sort -u >"$image/etc/libraries"
  mapfile -t found <"$image/etc/libraries"
  copy "${found[@]}"
  copy /etc/{hosts,ld.so.cache,passwd}
  ;;
run)
  tree=$3
  ip link set lo up
  # Read-only, so that no action leaves anything behind.
  mount --bind "$image" "$image"
  mount -o remount,bind,ro "$image"
  mount --bind "$tree" "$image/work"
  mount --rbind /dev "$image/dev"
  mount -t proc proc "$image/proc"
  mount -t tmpfs tmpfs "$image/tmp"
  status=0
  # Not by exec: as the first process of its namespace it would not get signals.
  chroot "$image" "${@:4}" || status=$?
  exit "$status"
  ;;
esac
