#!/bin/sh
# Tells Fairway what a provider's runtime says about a session of its own. Not a backend: everything is handed to
# `fairway session event`, whose flags these are and whose exit code this is. Needs nothing.
#
#   provider-event.sh --provider P --external-session-id X --state S [--backend B] [--role R] [--lane L] [--task-id T]
#     [--summary TEXT | --summary -] [--transcript F] [--artifact F] [--handoff-to ROLE] [--branch B] [--worktree D]
#     [--event-id K] [--dry-run]
#
# FAIRWAY_BIN names the program; by default it is `fairway` in PATH.
set -u

fairway=${FAIRWAY_BIN:-fairway}

die() {
  printf 'provider-event.sh: %s\n' "$*" >&2
  exit 1
}

help() {
  cat <<'END'
usage: provider-event.sh --provider P --external-session-id X --state S [flags]

States, as `started` or `waitingOnApproval`:
  started running waiting_on_approval waiting_on_input completed failed no_progress stale

Hands everything to `fairway session event`; `fairway session event --help` explains every flag.
END
}

case ${1:-} in
  -h | --help | help)
    help
    exit 0
    ;;
  '') die 'what happened? --help shows the flags' ;;
  *) ;;
esac

command -v "${fairway}" >/dev/null 2>&1 || die "there is no program '${fairway}'; FAIRWAY_BIN names another"
exec "${fairway}" session event "$@"
