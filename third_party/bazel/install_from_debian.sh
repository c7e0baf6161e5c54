#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Bazel 7 into PREFIX from Debian's packages, for machines that cannot reach Bazel's own releases.
#   install_from_debian.sh PREFIX     needs no root and writes nowhere else; run PREFIX/bin/bazel afterwards
#   install_from_debian.sh --check    says what speaks against it on this machine, if anything does
set -euo pipefail
export LC_ALL=C
. "$(dirname "${BASH_SOURCE[0]}")/../debian/apt.sh"

die() {
  echo "$*" >&2
  exit 1
}

check() {
  local tool
  for tool in apt-get dpkg python3; do
    type -P "$tool" >/dev/null || die "there is no $tool (only Debian's packages are known here)"
  done
  [[ $(dpkg --print-architecture) =~ ^(amd64|arm64)$ ]] || die "Debian's Bazel 7 is for x86_64 and aarch64 only"
  [[ -r $keyring ]] || die "there is no $keyring"
  debian_mirror >/dev/null 2>&1 || die "there is no Debian mirror among apt's sources"
}

# Bazel's client, its server, the server's JVM and their libraries; compilers and interpreters stay the machine's own.
# Unstable is the only suite with Bazel 7; its declared dependencies lack libblake3-0.
unpack_packages() {
  local apt=(apt-get -qq -c "$work/apt.conf") deb
  private_apt "$work" "$(dpkg --print-architecture)" sid || die "cannot read the package index of $(debian_mirror)"
  mkdir "$work/debs"
  "${apt[@]}" --simulate install bazel-bootstrap libblake3-0 patchelf | awk '/^Inst/ {print $2}' |
    grep -E '^(lib|bazel-|openjdk-[0-9]+-jre-headless$|zlib1g$|junit4$|velocity$|patchelf$)' |
    grep -vE '^lib.*(-dev|perl.*|python.*|san[0-9]+)$' >"$work/packages" || die "Debian's packages do not fit together today"
  (cd "$work/debs" && xargs "${apt[@]}" download <"$work/packages") || die "cannot fetch packages from $(debian_mirror)"
  for deb in "$work"/debs/*.deb; do
    dpkg -x "$deb" "$prefix"
  done
}

# Links and class path must not lead out of PREFIX. What leads nowhere inside, such as the JVM's trust store, stays the machine's.
relocate() {
  python3 -I - "$prefix" <<'PYTHON'
import os, re, sys, zipfile

prefix = sys.argv[1]
for folder, folders, files in os.walk(prefix):
    for path in (os.path.join(folder, name) for name in folders + files):
        if os.path.islink(path) and os.path.isabs(os.readlink(path)) and os.path.lexists(prefix + os.readlink(path)):
            target = os.path.relpath(prefix + os.readlink(path), folder)
            os.unlink(path)
            os.symlink(target, path)

# A jar's manifest names the jars that it needs in turn; the server hangs without them.
listing = prefix + "/usr/share/bazel/bazel_classpath_debian_depends.txt"
with open(listing) as lines:
    todo, jars = lines.read().split(), {}
for name in todo:
    jar = os.path.normpath(prefix + os.path.join("/usr/share/java", name))
    if jar not in jars and os.path.exists(jar):
        jars[jar] = True
        manifest = zipfile.ZipFile(jar).read("META-INF/MANIFEST.MF").decode().replace("\r\n", "\n").replace("\n ", "")
        todo += " ".join(re.findall("^Class-Path:(.*)", manifest, re.MULTILINE)).split()
with open(listing, "w") as lines:
    lines.writelines(jar + "\n" for jar in jars)
PYTHON
}

# The binaries want a newer glibc than the machine may have: they get the loader and the libraries that came with them.
use_own_loader() {
  local loader program
  loader=$(echo "$prefix"/usr/lib/*-linux-gnu/ld-linux-*.so.?)
  for program in "$prefix"/usr/bin/bazel "$prefix"/usr/libexec/*/bazel/* "$jvm"/bin/java "$jvm"/lib/jspawnhelper; do
    "$loader" --library-path "${loader%/*}" "$prefix/usr/bin/patchelf" --set-interpreter "$loader" \
      --force-rpath --set-rpath "\$ORIGIN:\$ORIGIN/../lib:${loader%/*}" "$program"
  done
}

# What Bazel would fetch from hosts of its own: Debian's copies, and empty stand-ins for what C++ and Python builds never load.
write_bazelrc() {
  local share=$prefix/usr/share/bazel pair module
  for pair in rules_{cc=rules/cc,java=rules/java,license=rules/license,proto=rules/proto,python=rules/python} \
    bazel_skylib=tools/skylib bazel_features=tools/features platforms=tools/platforms; do
    echo "common --override_repository=${pair/=/=$share/} --override_module=${pair/=/=$share/}"
  done
  for module in apple_support buildozer protobuf zlib; do
    mkdir -p "$prefix/stand_ins/$module"
    echo "module(name = \"$module\")" >"$prefix/stand_ins/$module/MODULE.bazel"
    : >"$prefix/stand_ins/$module/BUILD.bazel"
    echo "common --override_module=$module=$prefix/stand_ins/$module"
  done
}

# Client and server talk over the loopback interface; where that is down (`unshare -n`), only batch mode works.
write_launcher() {
  cat <<LAUNCHER
#!/bin/sh
if [ -r /proc/net/fib_trie ] && ! grep -q 127.0.0.1 /proc/net/fib_trie; then batch=--batch; else batch=; fi
exec "$prefix/usr/bin/bazel" --nosystem_rc --bazelrc="$prefix/bazelrc" --install_base="$prefix/usr/share/bazel" \\
  --trust_install_base --server_javabase="$jvm" \$batch "\$@"
LAUNCHER
}

# Unstable moves: a small build shows whether client, server, JVM, sandbox and overrides still fit together.
try_out() {
  local bazel=$1
  [[ $("$bazel" --version) == "bazel 7."* ]] || die "Debian now has $("$bazel" --version), not Bazel 7"
  mkdir "$work/workspace"
  : >"$work/workspace/MODULE.bazel"
  echo 'genrule(name = "probe", outs = ["out"], cmd = "touch $@")' >"$work/workspace/BUILD.bazel"
  (cd "$work/workspace" &&
    timeout --foreground 300 "$bazel" --nohome_rc --batch --host_jvm_args=-XX:-UsePerfData --output_user_root="$work/output" build //:probe) ||
    die "the installed Bazel does not work"
}

: "${1:?usage: install_from_debian.sh PREFIX | --check}"
check
[[ $1 != --check ]] || exit 0
prefix=$(realpath -m "$1")
work=$prefix/work
mkdir -p "${prefix%/*}"
mkdir "$prefix" || die "PREFIX must be a new folder"
trap 'rm -rf "$prefix"' EXIT
unpack_packages
relocate
jvm=$(find "$prefix/usr/lib/jvm" -maxdepth 1 -type d -name 'java-*-openjdk-*')
use_own_loader
write_bazelrc >"$prefix/bazelrc"
write_launcher >"$work/bazel"
chmod +x "$work/bazel"
try_out "$work/bazel"
# The launcher comes last: where it is, the installation is complete.
mkdir "$prefix/bin"
mv "$work/bazel" "$prefix/bin/bazel"
trap 'rm -rf "$work"' EXIT
