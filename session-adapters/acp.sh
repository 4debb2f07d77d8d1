#!/bin/sh
# A session backend for agents of the Agent Client Protocol: a supervisor speaks it with the program on the program's stdin and
# stdout. The transcript is the conversation. Speaks the exec session protocol: acp.sh <operation> <session-name> [args…].
set -u

fairway=${FAIRWAY_BIN:-fairway}

die() {
  printf 'acp.sh: %s\n' "$*" >&2
  exit 1
}

# A caller that gives up on a start sends TERM; the script then removes what it has created.
roll_back() {
  trap '' TERM
  "${fairway}" adapter kill-tree --own-start -- "${session}"
  exit 1
}

# The configuration comes on stdin, the report goes to stdout.
start() {
  session=$1
  trap roll_back TERM
  "${fairway}" adapter unpack -- "${session}" || roll_back
  "${fairway}" adapter run --structured --detach -- "${session}" || roll_back
  "${fairway}" adapter finish-start -- "${session}" "$0" || roll_back
}

stop() {
  "${fairway}" adapter kill-tree -- "$1" || exit 1
}

is_running() {
  "${fairway}" adapter alive -- "$1" || exit 1
}

process_alive() {
  "${fairway}" adapter process-alive -- "$1" || exit 1
}

peek() {
  "${fairway}" adapter peek -- "$1" "${2:-0}" || exit 1
}

interrupt() {
  "${fairway}" adapter cancel -- "$1" || exit 1
}

attach() {
  "${fairway}" adapter follow -- "$1" || exit 1
}

is_attached() {
  "${fairway}" adapter follow --ask -- "$1" || exit 1
}

# The text comes on stdin.
nudge() {
  "${fairway}" adapter prompt -- "$1" || exit 1
}

copy_to() {
  "${fairway}" adapter copy-to -- "$1" "${2:-}" "${3:-}" || exit 1
}

set_meta() {
  "${fairway}" adapter meta set -- "$1" "${2:-}" || exit 1
}

get_meta() {
  "${fairway}" adapter meta get -- "$1" "${2:-}" || exit 1
}

remove_meta() {
  "${fairway}" adapter meta remove -- "$1" "${2:-}" || exit 1
}

list_running() {
  "${fairway}" adapter list-running -- "${1:-}" || exit 1
}

last_activity() {
  "${fairway}" adapter last-activity -- "$1" || exit 1
}

protocol() {
  printf '{"version":0,"capabilities":["start-nudge","ready","report-attachment","report-activity","follow"]}\n'
}

operation=${1:-}
case ${operation} in
  start | stop | interrupt | is-running | attach | is-attached | process-alive | nudge | peek) named=yes ;;
  set-meta | get-meta | remove-meta | get-last-activity | copy-to) named=yes ;;
  list-running | clear-scrollback | check-image | protocol) named=no ;;
  '') die 'usage: acp.sh <operation> <session-name> [args…]' ;;
  *) exit 2 ;;
esac
[ "${named}" = no ] || [ -n "${2:-}" ] || die "${operation} needs a session's name"
shift

case ${operation} in
  start) start "$1" ;;
  stop) stop "$1" ;;
  interrupt) interrupt "$1" ;;
  is-running) is_running "$1" ;;
  attach) attach "$1" ;;
  is-attached) is_attached "$1" ;;
  process-alive) process_alive "$1" ;;
  nudge) nudge "$1" ;;
  peek) peek "$@" ;;
  set-meta) set_meta "$@" ;;
  get-meta) get_meta "$@" ;;
  remove-meta) remove_meta "$@" ;;
  list-running) list_running "$@" ;;
  get-last-activity) last_activity "$1" ;;
  copy-to) copy_to "$@" ;;
  protocol) protocol ;;
  # There is no screen that scrolls, and there are no images.
  *) ;;
esac
