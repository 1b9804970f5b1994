# Sourced by tools/demo and tools/test: sees to it that what the build needs is there.
#
#   need_packages NAME…   installs what is missing with apt-get (as root or through sudo), or says what to install by hand

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# What each package is for. Debian 12's own, and LLVM 22 from wherever the system's package sources have it.
packages_for_building() {
  cat <<'LIST'
llvm-22-dev     LLVM 22: code generation for the host
libmlir-22-dev  MLIR 22: the compiler's own IR is built on it
mlir-22-tools   mlir-tblgen, which generates the dialect
clang-22        the faster of the two supported compilers
lld-22          the linker
liblld-22-dev   LLD 22 as a library: links code for AMD GPUs
zlib1g-dev      part of LLVM
libzstd-dev     part of LLVM
cmake           the build
ninja-build     the build
libcli11-dev    the command line's options
LIST
}
packages_for_tests() {
  cat <<'LIST'
llvm-22-tools   FileCheck and lit, for tests of the IR
catch2          the test framework
ccache          makes later builds quick
python3         test scripts
LIST
}

is_installed() { [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

# Reads lines "package  reason".
need_packages() {
  local list missing=() name reason
  list=$(cat)
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    [ -n "${MLIR_DIR:-}" ] && return # somebody who knows where LLVM is has the rest, too
    fail "this system has no apt-get. Please install by hand, then set MLIR_DIR=<LLVM 22>/lib/cmake/mlir:
$list"
  fi
  while read -r name reason; do
    # with MLIR_DIR, LLVM comes from elsewhere
    case "$name" in *llvm* | *mlir*) [ -z "${MLIR_DIR:-}" ] || continue ;; esac
    is_installed "$name" || missing+=("$name")
  done <<<"$list"
  [ ${#missing[@]} -gt 0 ] || return 0

  say "Installing with apt-get: ${missing[*]}"
  while read -r name reason; do
    case " ${missing[*]} " in *" $name "*) printf '   %-15s %s\n' "$name" "$reason" ;; esac
  done <<<"$list"
  local sudo=""
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo: please run: apt-get install ${missing[*]}"
    sudo=sudo
  fi
  $sudo apt-get update -qq || printf 'apt-get update failed; trying with the package lists that are there\n' >&2
  for name in "${missing[@]}"; do
    apt-cache show "$name" >/dev/null 2>&1 && continue
    case "$name" in
    *-22*) fail "package $name is in none of this system's package sources. Sectile needs LLVM 22: add a source of LLVM 22
       packages for your system (the LLVM project publishes one for Debian and Ubuntu), or build LLVM with MLIR yourself
       and set MLIR_DIR=<prefix>/lib/cmake/mlir" ;;
    *) fail "package $name is in none of this system's package sources" ;;
    esac
  done
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

# configure_and_build PRESET TARGET… : quiet unless it fails; ninja shows its progress.
configure_and_build() {
  local preset=$1
  shift
  local options=()
  [ -z "${MLIR_DIR:-}" ] || options+=("-DMLIR_DIR=$MLIR_DIR")
  if [ ! -f "build/$preset/build.ninja" ] && [ -z "${CXX:-}" ] && command -v clang++-22 >/dev/null; then
    options+=(-DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DSECTILE_WERROR=ON)
  fi
  # warnings are errors with the compiler they were checked with, in every preset: so that ccache can share objects
  mkdir -p "build/$preset"
  cmake --preset "$preset" "${options[@]}" >"build/$preset/configure.log" 2>&1 ||
    { cat "build/$preset/configure.log" >&2 && fail "configuring failed, see above"; }
  cmake --build --preset "$preset" ${SECTILE_JOBS:+-j "$SECTILE_JOBS"} --target "$@"
}
