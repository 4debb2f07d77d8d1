#!/bin/sh
# Runs session-adapters/provider-event.sh of this checkout, wherever it is called from, also through a link:
# see there for the flags.
set -u

die() {
  printf 'provider-event.sh: %s\n' "$*" >&2
  exit 1
}

self=$0
while [ -h "${self}" ]; do
  target=$(readlink "${self}") || die "cannot follow ${self}"
  case ${target} in
    /*) self=${target} ;;
    *) self=$(dirname "${self}")/${target} ;;
  esac
done
here=$(CDPATH='' cd -P "$(dirname "${self}")" && pwd) || die "cannot find the folder of ${self}"
script=${here}/../../session-adapters/provider-event.sh
[ -x "${script}" ] || die "${script} is not there; fairway adapter install DIR writes it out"
exec "${script}" "$@"
