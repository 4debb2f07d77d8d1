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

fairway=${FAIRWAY_BIN:-fairway}

die() {
  printf 'zellij.sh: %s\n' "$*" >&2
  exit 1
}

usage() {
  cat <<'END'
usage: zellij.sh ROLE [TASK_ID]

Launches a session in zellij.
FAIRWAY_PROVIDER, FAIRWAY_PROVIDER_COMMAND, FAIRWAY_INITIAL_PROMPT, FAIRWAY_TRANSCRIPT, FAIRWAY_LANE,
FAIRWAY_WORKTREE and FAIRWAY_BRANCH say what is launched; README.md explains them.
END
}

case ${1:-} in
  -h | --help)
    usage
    exit 0
    ;;
  '' | -*) die "which role? usage: zellij.sh ROLE [TASK_ID]" ;;
  *) ;;
esac
[ "$#" -le 2 ] || die "usage: zellij.sh ROLE [TASK_ID]"
role=$1
task=${2:-}
command -v "${fairway}" >/dev/null 2>&1 || die "there is no program '${fairway}'; FAIRWAY_BIN names another"

# What fairway knows of the session that this is called from, if it is called from one.
surroundings=
if [ -n "${FAIRWAY_SESSION_ID:-}" ]; then
  surroundings=$("${fairway}" session show "${FAIRWAY_SESSION_ID}" --json) || die 'the session around this is not known'
fi

# Whether a value is the surrounding session's own: it came along, nobody gave it.
came_along() {
  quoted=$(printf '%s' "$2" | sed 's/[\\"]/\\&/g')
  case ${surroundings} in
    *"\"$1\":\"${quoted}\""*) return 0 ;;
    *) return 1 ;;
  esac
}
lane=${FAIRWAY_LANE:-}
worktree=${FAIRWAY_WORKTREE:-}
branch=${FAIRWAY_BRANCH:-}
transcript=${FAIRWAY_TRANSCRIPT:-}
came_along lane "${lane}" && lane=
came_along worktree "${worktree}" && worktree=
came_along branch "${branch}" && branch=
came_along transcript "${transcript}" && transcript=

launch() {
  set -- --role "${role}" --backend zellij
  [ -z "${task}" ] || set -- "$@" --task-id "${task}"
  [ -z "${FAIRWAY_PROVIDER:-}" ] || set -- "$@" --provider "${FAIRWAY_PROVIDER}"
  [ -z "${FAIRWAY_PROVIDER_COMMAND:-}" ] || set -- "$@" --command "${FAIRWAY_PROVIDER_COMMAND}"
  [ -z "${lane}" ] || set -- "$@" --lane "${lane}"
  [ -z "${worktree}" ] || set -- "$@" --worktree "${worktree}"
  [ -z "${branch}" ] || set -- "$@" --branch "${branch}"
  [ -z "${transcript}" ] || set -- "$@" --transcript "${transcript}"
  if [ -n "${FAIRWAY_INITIAL_PROMPT:-}" ]; then
    # A prompt goes through stdin: an argument could be read by everybody.
    printf '%s' "${FAIRWAY_INITIAL_PROMPT}" | "${fairway}" session launch "$@" --prompt-file -
  else
    exec "${fairway}" session launch "$@"
  fi
}

launch
