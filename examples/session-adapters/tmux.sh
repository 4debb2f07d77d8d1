#!/bin/sh
# Launches a session in tmux, through `fairway session launch --backend tmux`, or adopts a pane that is there.
#
#   tmux.sh ROLE [TASK_ID]
#
#   FAIRWAY_TMUX_PANE         a pane that is there, as %5: it is adopted, nothing is launched
#   FAIRWAY_TMUX_SOCKET       the server's socket; by default that of $TMUX, else tmux's own default
#   FAIRWAY_PROVIDER          the provider, a label; by default the role's, else a shell
#   FAIRWAY_PROVIDER_COMMAND  its program, as shell text; by default the provider's
#   FAIRWAY_INITIAL_PROMPT    what it is told first
#   FAIRWAY_TRANSCRIPT        where its output is kept; relative to the project's root
#   FAIRWAY_LANE, FAIRWAY_WORKTREE, FAIRWAY_BRANCH  where it works
#   FAIRWAY_BIN               the program `fairway`, when it is not in PATH
#
# Inside a session, that session's own lane, worktree, branch and transcript are not taken over.
set -u

backend=tmux
about='Launches a session in tmux; with FAIRWAY_TMUX_PANE=%5 it adopts that pane.'
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

# Runs tmux on the server that is meant.
at() {
  if [ -n "${socket}" ]; then tmux -S "${socket}" "$@"; else tmux "$@"; fi
}

# A fact about the pane.
fact() {
  at display-message -p -t "${pane}" "$1"
}

# A word of a command that tmux hands to a shell: quoted for the shell, and without the signs that tmux itself reads. Doubling
# those is not enough: tmux leaves ##[ as it is.
word() {
  quoted=$(printf '%s' "$1" |
    sed "s/'/'\\\\''/g; s/#/'\"\$(printf '\\\\043')\"'/g; s/%/'\"\$(printf '\\\\045')\"'/g") || die 'there is no sed'
  printf "'%s'" "${quoted}"
}

# Makes a pane that is there known as a session, keeps what it prints from now on, and leaves a checkpoint.
adopt() {
  pane=$1
  case ${pane#%} in
    '' | "${pane}" | *[!0-9]*) die "FAIRWAY_TMUX_PANE is '${pane}'; a pane is named like %5" ;;
    *) ;;
  esac
  socket=${FAIRWAY_TMUX_SOCKET:-}
  [ -n "${socket}" ] || socket=${TMUX:-}
  [ -n "${FAIRWAY_TMUX_SOCKET:-}" ] || socket=${socket%,*,*}
  # A pane that is not there is answered with nothing and success.
  found=$(fact '#{pane_id}') || die 'there is no tmux server that answers'
  [ "${found}" = "${pane}" ] || die "there is no pane ${pane}"
  dead=$(fact '#{pane_dead}') || die "cannot look at ${pane}"
  [ "${dead}" != 1 ] || die "the program in ${pane} has ended"
  pid=$(fact '#{pane_pid}') || die "cannot look at ${pane}"
  socket=$(fact '#{socket_path}') || die "cannot look at ${pane}"
  piped=$(fact '#{pane_pipe}') || die "cannot look at ${pane}"

  # Where the pane works, as far as tmux and git know.
  if [ -z "${worktree}" ] && directory=$(fact '#{pane_current_path}'); then
    worktree=$(git -C "${directory}" rev-parse --show-toplevel 2>/dev/null) || worktree=
  fi
  if [ -z "${branch}" ] && [ -n "${worktree}" ]; then
    branch=$(git -C "${worktree}" symbolic-ref --quiet --short HEAD 2>/dev/null) || branch=
  fi

  # The pane is another session than the one that this is called from.
  unset FAIRWAY_SESSION_ID FAIRWAY_RUN_ID
  set -- --role "${role}" --backend tmux --pane "${pane}" --socket "${socket}" --pid "${pid}"
  [ -z "${task}" ] || set -- "$@" --task-id "${task}"
  [ -z "${FAIRWAY_PROVIDER:-}" ] || set -- "$@" --provider "${FAIRWAY_PROVIDER}"
  [ -z "${lane}" ] || set -- "$@" --lane "${lane}"
  [ -z "${worktree}" ] || set -- "$@" --worktree "${worktree}"
  [ -z "${branch}" ] || set -- "$@" --branch "${branch}"
  id=$("${fairway}" session upsert --quiet "$@") || exit 1

  if [ "${piped}" = 1 ]; then
    printf '%s is piped already: its transcript is left as it is\n' "${pane}" >&2
  else
    keep "${id}" "${transcript:-.fairway/transcripts/${id}.log}"
  fi
  if [ -n "${task}" ]; then
    "${fairway}" checkpoint record "${task}" --session "${id}" --state active --quiet \
      --summary "the session ${id} goes on in the tmux pane ${pane}" >/dev/null || exit 1
  fi
  printf 'adopted %s as %s\n' "${pane}" "${id}"
}

# Has tmux copy what the pane prints to the transcript.
keep() {
  known=$("${fairway}" session upsert --json --id "$1" --transcript "$2") || exit 1
  path=$(printf '%s\n' "${known}" | sed -n 's/.*"transcript":"\([^"]*\)".*/\1/p')
  case ${path} in
    /*\\* | '') die "the transcript '$2' cannot be handed to tmux; choose a plainer path" ;;
    *) ;;
  esac
  program=$(command -v "${fairway}") || die "there is no program '${fairway}'"
  case ${program} in
    /*) ;;
    *) program=$(pwd)/${program} ;;
  esac
  program=$(word "${program}")
  path=$(word "${path}")
  at pipe-pane -t "${pane}" "exec ${program} adapter transcript -- ${path}" || die "tmux cannot pipe ${pane}"
}

if [ -n "${FAIRWAY_TMUX_PANE:-}" ]; then adopt "${FAIRWAY_TMUX_PANE}"; else launch; fi
