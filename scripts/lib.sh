# SPDX-License-Identifier: Apache-2.0
# Functions that the scripts of this folder share: messages, checks, packages, the environment with LibTorch.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf 'ringscope: %s\n' "$*" >&2; exit 2; }

# Debian packages that building and testing need.
viewer_packages="build-essential cmake ninja-build ccache git libsqlite3-dev nlohmann-json3-dev libcli11-dev
  libxxhash-dev zlib1g-dev qt6-base-dev qt6-charts-dev libqt6opengl6-dev fonts-inter fonts-jetbrains-mono"
build_packages="$viewer_packages python3-venv libgloo-dev libsentencepiece-dev"
test_packages="libgtest-dev xvfb xauth sqlite3 python3 clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14"

require_room() {
  local need_gb free_kb mem_kb
  need_gb=$([ "$flavour" = cuda ] && echo 10 || echo 6)
  free_kb=$(df -Pk . | awk 'NR==2 {print $4}')
  [ "$free_kb" -gt $((need_gb * 1000000)) ] || [ -f "$deps/.complete" ] ||
    die "setting up needs $need_gb GB of free disk here; $((free_kb / 1000000)) GB are left"
  mem_kb=$(awk '/^MemTotal/ {print $2}' /proc/meminfo)
  [ "$mem_kb" -gt 3500000 ] || die "building needs 4 GB of memory; this machine has $((mem_kb / 1000000)) GB"
}

install_packages() {
  command -v dpkg-query >/dev/null || die "these scripts install packages on Debian 12 and Ubuntu 24.04; on this system install: $*"
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing Debian packages: ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing and there is no sudo: ${missing[*]}"
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -q >&2
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
}

# Prints the distribution's Python. It only unpacks LibTorch and never imports it.
pick_python() {
  local candidate
  for candidate in /usr/bin/python3 python3; do
    "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null &&
      { echo "$candidate"; return; }
  done
  die "Python 3.11, 3.12 or 3.13 is needed to unpack LibTorch"
}

# Sets up LibTorch once. An interrupted set-up leaves no stamp and is repeated; pip keeps its downloads.
setup_libtorch() {
  local requirements=scripts/requirements-$flavour.txt stamp=$deps/.complete
  if [ -f "$stamp" ] && cmp -s "$requirements" "$stamp"; then return 0; fi
  say "setting up LibTorch 2.11.0 ($flavour) in $deps; about $([ "$flavour" = cuda ] && echo 2.5 || echo 0.55) GB to load"
  local python
  python=$(pick_python)
  [ -x "$deps/bin/pip" ] || "$python" -m venv "$deps"
  "$deps/bin/pip" install --no-deps --require-hashes --disable-pip-version-check \
    $([ -t 2 ] || echo --progress-bar=off) -r "$requirements" >&2
  cp "$requirements" "$stamp"
}

has_nvcc13() {
  local nvcc
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  [ -x "$nvcc" ] && "$nvcc" --version | grep -q 'release 13\.'
}

# build [CMAKE ARGUMENTS]: configures if there is no build folder yet or with reconfigure=yes, then builds.
build() {
  local build=build/$preset
  if [ ! -f "$build/build.ninja" ] || [ "${reconfigure:-no}" = yes ]; then
    say "configuring ($preset)"
    cmake --preset "$preset" "$@" >&2
  fi
  # Prints nothing if there is nothing to do, so that a second start is quick.
  if ! ninja -C "$build" -n 2>/dev/null | grep -q 'no work to do'; then
    say "building ($preset) on $(nproc) cores"
    cmake --build "$build" >&2
  fi
}

flavour=cpu preset=release
parse_flavour() {
  local use=auto
  rest=()
  for argument in "$@"; do
    case $argument in
      --cuda) use=cuda ;;
      --cpu) use=cpu ;;
      *) rest+=("$argument") ;;
    esac
  done
  if [ "$use" = cuda ] || { [ "$use" = auto ] && has_nvcc13; }; then flavour=cuda preset=cuda; fi
  [ "$flavour" = cpu ] || has_nvcc13 ||
    die "--cuda compiles kernels and needs nvcc of CUDA 13; install the CUDA 13 toolkit, or use --cpu"
  deps=$root/.deps/$flavour
}
