#!/bin/sh
# A session backend that needs nothing: the program runs in a session of its own, its output goes to the transcript.
# Speaks the exec session protocol: shell.sh <operation> <session-name> [args…].
set -u

fairway=${FAIRWAY_BIN:-fairway}

die() {
  printf 'shell.sh: %s\n' "$*" >&2
  exit 1
}

# The configuration comes on stdin, the report goes to stdout.
start() {
  "${fairway}" adapter unpack -- "$1" || exit 1
  "${fairway}" adapter run --detach -- "$1" || exit 1
}

stop() {
  "${fairway}" adapter kill-tree -- "$1" || exit 1
}

is_running() {
  "${fairway}" adapter alive -- "$1" || exit 1
}

peek() {
  "${fairway}" adapter peek -- "$1" "${2:-0}" || exit 1
}

get_meta() {
  "${fairway}" adapter meta get -- "$1" "${2:-}" || exit 1
}

protocol() {
  printf '{"version":0,"capabilities":[]}\n'
}

operation=${1:-}
case ${operation} in
  start | stop | is-running | peek | get-meta)
    [ -n "${2:-}" ] || die "${operation} needs a session's name"
    ;;
  protocol) ;;
  '') die 'usage: shell.sh <operation> <session-name> [args…]' ;;
  *) exit 2 ;;
esac
shift

case ${operation} in
  start) start "$1" ;;
  stop) stop "$1" ;;
  is-running) is_running "$1" ;;
  peek) peek "$@" ;;
  get-meta) get_meta "$@" ;;
  protocol) protocol ;;
  *) exit 2 ;;
esac
