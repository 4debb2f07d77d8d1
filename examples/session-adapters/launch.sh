#!/bin/sh
# What the bridges beside this file share; they read it in after they have said what they are in $backend and $about. Reads
# ROLE and TASK_ID from their arguments and the rest from the environment; defines launch. README.md explains the variables.

fairway=${FAIRWAY_BIN:-fairway}
backend=${backend-}
about=${about-}

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

usage() {
  cat <<END
usage: ${0##*/} ROLE [TASK_ID]

${about}
FAIRWAY_PROVIDER, FAIRWAY_PROVIDER_COMMAND, FAIRWAY_INITIAL_PROMPT, FAIRWAY_TRANSCRIPT, FAIRWAY_LANE,
FAIRWAY_WORKTREE and FAIRWAY_BRANCH say what is launched; README.md explains them.
END
}

case ${1:-} in
  -h | --help)
    usage
    exit 0
    ;;
  '' | -*) die "which role? usage: ${0##*/} ROLE [TASK_ID]" ;;
  *) ;;
esac
[ "$#" -le 2 ] || die "usage: ${0##*/} ROLE [TASK_ID]"
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
  set -- --role "${role}" --backend "${backend}"
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
