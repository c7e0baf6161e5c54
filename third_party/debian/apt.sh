# SPDX-License-Identifier: Apache-2.0
# Functions for scripts that read Debian's archive by an apt of their own: no root is needed, and nothing is installed.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the URL of the machine's mirror. Apt itself knows every form in which a source can be written. Other vendors'
# archives may end in /debian, too.
debian_mirror() {
  local mirrors
  mirrors=$(apt-get update --print-uris | sed -n "s|^'\(.*/debian\(\.list\)\{0,1\}\)/*/dists/[^/]*/main/binary-.*|\1|p")
  [[ -n $mirrors ]] && echo "${mirrors%%$'\n'*}"
}

# private_apt FOLDER ARCHITECTURE SUITE...: writes FOLDER/apt.conf, for `apt-get -c`. With nothing "installed", apt
# resolves whole closures. The machine's proxies and credentials stay in force; its pins, and its hooks, which write
# elsewhere, do not.
private_apt() {
  local folder=$1 architecture=$2 mirror
  mirror=$(debian_mirror)
  mkdir -p "$folder"/{tmp,lists/partial,cache/archives/partial}
  : >"$folder/status"
  printf "deb [signed-by=$keyring] $mirror %s main\n" "${@:3}" >"$folder/sources.list"
  cat >"$folder/apt.conf" <<CONF
#clear APT::Architectures; #clear APT::Update::Pre-Invoke; #clear APT::Update::Post-Invoke; #clear APT::Update::Post-Invoke-Success;
APT { Architectures { "$architecture"; }; Default-Release ""; Install-Recommends "false"; Sandbox::User "root"; };
APT::Update::Error-Mode "any";
Acquire { Languages "none"; Retries "2"; };
Dir::Etc { SourceList "$folder/sources.list"; SourceParts "/dev/null"; Preferences "/dev/null"; PreferencesParts "/dev/null"; };
Dir::State { Lists "$folder/lists"; Status "$folder/status"; Extended_States "$folder/extended_states"; };
Dir::Cache "$folder/cache";
CONF
  export TMPDIR=$folder/tmp
  apt-get -qq -c "$folder/apt.conf" update || { echo "cannot read the package index of $mirror" >&2; return 1; }
}
