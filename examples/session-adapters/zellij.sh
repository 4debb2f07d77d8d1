#!/bin/sh
# Launches a session in zellij, through `fairway session launch --backend zellij`.
#
#   zellij.sh ROLE [TASK_ID]
#
#   FAIRWAY_PROVIDER          the provider, a label; by default the role's, else a shell
#   FAIRWAY_PROVIDER_COMMAND  its program, as shell text; by default the provider's
#   FAIRWAY_INITIAL_PROMPT    what it is told first
#   FAIRWAY_TRANSCRIPT        where its output is kept; relative to the project's root
#   FAIRWAY_LANE, FAIRWAY_WORKTREE, FAIRWAY_BRANCH  where it works
#   FAIRWAY_BIN               the program `fairway`, when it is not in PATH
#
# Inside a session, that session's own lane, worktree, branch and transcript are not taken over.
set -u

backend=zellij
about='Launches a session in zellij.'
self=$0
while [ -h "${self}" ]; do
  target=$(readlink "${self}") || exit 1
  case ${target} in
    /*) self=${target} ;;
    *) self=$(dirname "${self}")/${target} ;;
  esac
done
shared=$(dirname "${self}")/launch.sh
[ -r "${shared}" ] || {
  printf '%s: %s is not there: it goes along with this script\n' "$0" "${shared}" >&2
  exit 1
}
# shellcheck source=examples/session-adapters/launch.sh
. "${shared}"

launch
