# shellcheck shell=bash
# Sourced by the fetch scripts: a cache outside of the tree, filled by Maven.

cache=${WALPOST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/walpost}

# Runs Maven with a repository of its own, saying only what went wrong.
maven() {
  if ! command -v mvn >/dev/null; then
    echo "${0##*/} needs Maven: apt-get install maven" >&2
    return 1
  fi
  # Maven resets the terminal's colour even where it has not set one.
  mvn -B -q -Dmaven.repo.local="$cache/maven" "$@" 2>&1 |
    sed 's/\x1b\[[0-9;]*m//g' >&2
}

# Makes a folder in the cache to fill, removed at the end of the script, and
# sets `work` to it.
start_fetching() {
  echo "${0##*/}: fetching $1" >&2
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.fetching-XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

# Moves a filled folder to its place in one step. Another run may have been
# quicker; either result is good.
keep_as() {
  chmod -R a+rX "$1"
  mv -T "$1" "$2" 2>/dev/null || [[ -d $2 ]]
}
