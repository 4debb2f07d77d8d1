#!/bin/sh
# A session backend in tmux 3.2 or newer: a detached tmux session each, its transcript by pipe-pane. It has a private server
# beside its state; FAIRWAY_BACKEND_SOCKET names another one, as a path or as `default`, the person's own.
# Speaks the exec session protocol: tmux.sh <operation> <session-name> [args…].
set -u

fairway=${FAIRWAY_BIN:-fairway}
newline='
'

die() {
  printf 'tmux.sh: %s\n' "$*" >&2
  exit 1
}

# What the plumbing answers; it says itself why it does not.
plumbing() {
  "${fairway}" adapter "$@" || exit 1
}

# The sessions' directories and this script as absolute paths: panes and tmux are elsewhere.
state=${FAIRWAY_ADAPTER_STATE:-${GC_EXEC_STATE_DIR:-}}
self=$0
case ${state} in
  '' | /*) ;;
  *) state=${PWD}/${state} ;;
esac
case ${self} in
  /*) ;;
  *) self=${PWD}/${self} ;;
esac
[ -z "${state}" ] || export FAIRWAY_ADAPTER_STATE="${state}"

# ---- the server

# Which one, as a flag of tmux and its value. Only the private one gets settings of its own.
private=
choose_server() {
  flag=-S
  case ${FAIRWAY_BACKEND_SOCKET:-} in
    '')
      private=yes
      address=$(plumbing socket-path tmux) || exit 1
      ;;
    default) flag=-L address=default ;;
    /*) address=${FAIRWAY_BACKEND_SOCKET} ;;
    *) die "FAIRWAY_BACKEND_SOCKET is neither 'default' nor an absolute path: ${FAIRWAY_BACKEND_SOCKET}" ;;
  esac
}

# What removes old files may have removed the socket of a living server; tmux makes it again on USR1. The server is the one that
# start noted, as long as a process of that number is a tmux.
identity=
make_socket_again() {
  server=${identity%%.*}
  [ -n "${server}" ] && [ ! -e "${address}" ] || return 1
  read -r command <"/proc/${server}/comm" || return 1
  case ${command} in
    tmux*) ;;
    *) return 1 ;;
  esac
  kill -USR1 "${server}" || return 1
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -e "${address}" ] || return 0
    sleep 0.1
  done
  return 1
} 2>/dev/null

# Asks or tells the server something; its answer is in $said. False when there is no such server or pane. A server that does
# not answer, or a tmux that cannot be run, is a failure and never an answer. With $given it reads this script's stdin.
given=
ask() {
  said=$("${fairway}" adapter call ${given:+--stdin} -- tmux -u "${flag}" "${address}" "$@" 2>&1)
  case $?:${said} in
    0:*) return 0 ;;
    124:*) die 'tmux did not answer' ;;
    126:* | 127:*) die "tmux cannot be run: ${said}" ;;
    *'no server running on '* | *'error connecting to '*'(No such file or directory)'*)
      make_socket_again || return 1
      ask "$@"
      ;;
    *"can't find pane"* | *"can't find session"* | *"can't find window"*) return 1 ;;
    # Whatever the target, tmux says this while its server has no session at all.
    *'no current target'*) return 1 ;;
    *'lost server'* | *'server exited'*) return 1 ;;
    *) die "tmux failed: ${said}" ;;
  esac
}

# An argument as tmux takes it for one, in $whole: a semicolon at its end would end the command.
make_whole() {
  case $1 in
    *\;) whole=${1%;}\\\; ;;
    *) whole=$1 ;;
  esac
}

# A word as shell text, in $quoted, without the signs that tmux expands.
quote() {
  quoted=$(printf '%s.' "$1" |
    sed "s/'/'\\\\''/g; s/#/'\"\$(printf '\\\\043')\"'/g; s/%/'\"\$(printf '\\\\045')\"'/g") || die 'there is no sed'
  quoted=\'${quoted%.}\'
}

# ---- a session

# Finds one: its directory and token, whether its root process lives, and what start noted in a file of its directory,
# pane.<server>.<the server's start>.<pane>, since pane numbers come again with the next server.
find_session() {
  pane=
  found=$(plumbing find -- "$1") || exit 1
  [ -n "${found}" ] || return 1
  alive=${found%%"${newline}"*}
  dir=${found#*"${newline}"}
  token=${dir##*/}
  for note in "${dir}"/pane.*; do
    [ -e "${note}" ] || break
    flag=-S
    { read -r address && read -r session; } <"${note}" || die "${note} cannot be read"
    identity=${note##*/pane.}
    pane=${identity##*.}
  done
}

# Whether the pane of the session that was found is there and runs; what else is asked for is in $facts.
pane_runs() {
  [ -n "${pane}" ] || return 1
  ask display-message -p -t "${pane}" "${format} ${1:-}" || return 1
  facts=${said#"${identity} 0 "}
  [ "${facts}" != "${said}" ]
}
format='#{pid}.#{start_time}.#{pane_id} #{pane_dead}'

# Goes on only with a session whose pane runs: for one that is missing there is nothing to do.
reach() {
  find_session "$1" || exit 0
  pane_runs "$2" || exit 0
}

# In copy mode and the like, keys go to tmux and not to the program.
reach_program() {
  reach "$1" '#{pane_in_mode}'
  [ "${facts}" = 0 ] || ask copy-mode -q -t "${pane}" || exit 0
}

# ---- start and stop

# What the pane begins with: a variable before a program's path would be one with any `=` in it.
# shellcheck disable=SC2016
inside='export FAIRWAY_ADAPTER_STATE="$0" FAIRWAY_RUN_ID="$1"; shift; exec "$@"'

# Makes the tmux session, its options and its transcript in one command line: nothing that the program prints is missed.
make_session() {
  make_whole "${state}"
  set -- new-session -d -P -F '#{pid}.#{start_time}.#{pane_id} #{session_id} #{socket_path}' \
    -s "${token}" -n fairway -x "${cols}" -y "${rows}" -- /bin/sh -c "${inside}" "${whole}" "${run}"
  make_whole "${program}"
  set -- "$@" "${whole}" adapter run
  make_whole "${name}"
  set -- "$@" -- "${whole}" \
    \; set-option -t "=${token}:" destroy-unattached off \
    \; set-option -w -t "=${token}:" remain-on-exit off \
    \; set-option -w -t "=${token}:" automatic-rename off \
    \; set-option -w -t "=${token}:" allow-rename off
  make_whole "${token} ${state}"
  set -- "$@" \; set-option -p -t "=${token}:" @fairway "${whole}" \; pipe-pane -t "=${token}:" "${tee}"
  [ -z "${private}" ] || set -- -f /dev/null start-server \
    \; set-option -s escape-time 10 \
    \; set-option -s focus-events on \
    \; set-option -s extended-keys on \
    \; set-option -g default-terminal "${terminal}" \
    \; set-option -g history-limit 10000 \
    \; "$@"
  said=$("${program}" adapter call --limit-ms 10000 -- tmux -u "${flag}" "${address}" "$@" 2>&1)
}

# A session of this token whose pane is one of this state directory is ours: a program that has just ended, or a start that was
# cut off.
kill_ours() {
  ask display-message -p -t "=${token}:" '#{@fairway}' || return 0
  [ "${said}" = "${token} ${state}" ] || return 1
  ask kill-session -t "=${token}" || return 0
}

# Undoes a start that failed or was told to end.
undo() {
  trap '' TERM INT HUP
  [ -z "${made}" ] || (kill_ours)
  "${fairway}" adapter kill-tree --own-start -- "${name}"
  exit 1
}

start() {
  name=$1 made=
  choose_server
  program=$(command -v "${fairway}") || die "there is no program '${fairway}'; set FAIRWAY_BIN to the fairway binary"
  case ${program} in
    /*) ;;
    *) program=${PWD}/${program} ;;
  esac
  trap undo TERM INT HUP
  "${fairway}" adapter unpack -- "${name}" || undo
  token=$(plumbing get -- "${name}" token) || undo
  rows=$(plumbing get -- "${name}" rows) || undo
  cols=$(plumbing get -- "${name}" cols) || undo
  run=$(plumbing meta get -- "${name}" FAIRWAY_RUN_ID) || undo
  dir=$(plumbing get -- "${name}" session-dir) || undo
  transcript=$(plumbing get -- "${name}" transcript) || undo
  state=${dir%/*}
  quote "${state}"
  tee="FAIRWAY_ADAPTER_STATE=${quoted}"
  quote "${program}"
  tee="${tee} exec ${quoted} adapter transcript --"
  quote "${transcript}"
  tee="${tee} ${quoted}"
  terminal=screen
  infocmp tmux-256color >/dev/null 2>&1 && terminal=tmux-256color
  made=yes
  for _ in 1 2 3 4 5; do
    make_session
    code=$?
    case ${code}:${said} in
      0:*) break ;;
      *'duplicate session'*)
        if ! kill_ours; then
          made=
          printf "tmux.sh: a tmux session '%s' that is not this one's already exists there\n" "${token}" >&2
          undo
        fi
        ;;
      # The server went away with its last session just now.
      *'lost server'* | *'server exited'* | *'no server running'* | *'error connecting to '*) sleep 0.1 ;;
      *) break ;;
    esac
  done
  if [ "${code}" -ne 0 ]; then
    printf 'tmux.sh: the tmux session cannot be made: %s\n' "${said:-tmux did not answer}" >&2
    undo
  fi
  identity=${said%% *}
  said=${said#* }
  socket=${said#* }
  (umask 077 && printf '%s\n' "${socket}" "${said%% *}" "${name}" >"${dir}/pane.${identity}") || undo
  "${fairway}" adapter finish-start --pane "${identity##*.}" --socket "${socket}" -- "${name}" "${self}" || undo
}

stop() {
  find_session "$1" || return 0
  plumbing kill-tree -- "$1"
  [ -n "${pane}" ] || return 0
  ask display-message -p -t "${session}" '#{pid}.#{start_time} #{session_id}' || return 0
  [ "${said}" = "${identity%.*} ${session}" ] || return 0
  ask kill-session -t "${session}" || return 0
}

# ---- questions

is_running() {
  if ! find_session "$1" || [ "${alive}" = false ]; then
    printf 'false\n'
  elif [ -z "${pane}" ] || pane_runs; then
    printf 'true\n'
  else
    printf 'false\n'
  fi
}

# One call of tmux, and neither a process nor a read per session. A pane is ours when its note is there.
list_running() {
  choose_server
  [ -n "${state}" ] || state=$(plumbing state-dir) || exit 1
  ask list-panes -a -F "${format} #{@fairway}" || return 0
  names=
  set -f
  IFS=${newline}
  for line in ${said}; do
    identity=${line%% *}
    line=${line#* }
    dead=${line%% *}
    line=${line#* }
    token=${line%% *}
    note=${state}/${token:-.}/pane.${identity}
    if [ "${dead}" != 0 ] || [ ! -e "${note}" ]; then continue; fi
    case ${token} in
      # The name is not the token: it is in the note.
      *%* | l-*) listed=$(sed -n '3,$p' "${note}") ;;
      *) listed=${token#s-} ;;
    esac
    case ${listed} in
      "$1"*) names=${names}${listed}${newline} ;;
      *) ;;
    esac
  done
  printf '%s' "${names}"
}

peek() {
  lines=${2:-0}
  case ${lines#-} in
    '' | *[!0-9]*) die "how many lines? '${lines}' is no number" ;;
    *) ;;
  esac
  find_session "$1" || return 0
  from=-${lines#-}
  [ "${lines}" -gt 0 ] || from=-
  if [ -n "${pane}" ] && ask display-message -p -t "${pane}" "${format}" \; \
    capture-pane -p -J -S "${from}" -t "${pane}" && [ "${said%%"${newline}"*}" = "${identity} 0" ]; then
    # Neither padding at the end of lines nor blank lines at the end.
    printf '%s\n' "${said}" | LC_ALL=C awk -v "lines=${lines}" '
      NR > 1 { sub(/[ \t\r]+$/, ""); line[NR] = $0; if ($0 != "") last = NR }
      END { for (i = lines > 0 && last - lines > 1 ? last - lines + 1 : 2; i <= last; i++) print line[i] }'
  else
    plumbing peek -- "$1" "${lines}"
  fi
}

is_attached() {
  attached=false
  if find_session "$1" && pane_runs '#{session_attached}' && [ "${facts}" -gt 0 ]; then attached=true; fi
  printf '%s\n' "${attached}"
}

attach() {
  if ! find_session "$1" || ! pane_runs; then die "there is no session '$1'"; fi
  around=${TMUX:-}
  unset TMUX TMUX_PANE
  cd / || die 'there is no root directory'
  # Inside this very server it would nest.
  if [ "${around%%,*}" = "${address}" ]; then
    TMUX=${around} exec tmux -u switch-client -t "${session}"
  fi
  # One that is unknown here is most likely much like that one.
  if command -v infocmp >/dev/null && ! infocmp >/dev/null 2>&1; then export TERM=xterm-256color; fi
  exec tmux -u "${flag}" "${address}" attach-session -t "${session}"
}

# ---- keys and text

interrupt() {
  reach_program "$1"
  ask send-keys -t "${pane}" C-c || return 0
}

# Names of keys are keys, by their exact spelling; everything else is text.
send_keys() {
  reach_program "$1"
  shift
  count=$#
  [ "${count}" -gt 0 ] || return 0
  while [ "${count}" -gt 0 ]; do
    case $1 in
      Enter | Escape | Tab | BTab | Space | BSpace | Up | Down | Left | Right | Home | End | PageUp | PageDown | \
        PPage | NPage | PgUp | PgDn | Insert | Delete | IC | DC | F[1-9] | F1[0-2] | [CMS]-? | C-Space | [CMS]-[CMS]-? | \
        [CMS]-Up | [CMS]-Down | [CMS]-Left | [CMS]-Right | [CMS]-Home | [CMS]-End | [CMS]-Enter | [CMS]-Tab | M-BSpace)
        set -- "$@" send-keys -t "${pane}" "$1" \;
        ;;
      '') ;;
      *)
        make_whole "$1"
        set -- "$@" send-keys -t "${pane}" -l -- "${whole}" \;
        ;;
    esac
    shift
    count=$((count - 1))
  done
  [ "$#" -eq 0 ] || ask "$@" || return 0
}

nudge() {
  reach_program "$1"
  exec "${fairway}" adapter submit -- "$1" "${self}"
}

# The three that `adapter submit` calls back for: what is seen, a paste without its Enter, and the Enter.
look() {
  find_session "$1" || die "there is no session '$1'"
  pane_runs || die "the session '$1' has no pane"
  ask display-message -p -t "${pane}" '#{cursor_x} #{cursor_y}' \; capture-pane -p -e -t "${pane}" ||
    die "the session '$1' has no pane"
  printf '%s\n' "${said}"
}

paste() {
  reach_program "$1"
  flags=-prd
  # Newer ones would change what they paste unless told.
  ask list-commands paste-buffer && case ${said} in
    *S*) flags=-prdS ;;
    *) ;;
  esac
  given=yes
  ask load-buffer -b "fairway-$$" - \; paste-buffer "${flags}" -b "fairway-$$" -t "${pane}" ||
    die "the session '$1' has no pane"
}

press() {
  reach_program "$1"
  ask send-keys -t "${pane}" Enter || return 0
}

# ---- the dispatch

operation=${1:-}
case ${operation} in
  start | stop | interrupt | is-running | attach | process-alive | nudge | send-keys | peek | get-last-activity) ;;
  set-meta | get-meta | remove-meta | clear-scrollback | is-attached | look | paste | press) ;;
  list-running | protocol | copy-to | check-image) ;;
  '') die 'usage: tmux.sh <operation> <session-name> [args…]' ;;
  *) exit 2 ;;
esac
case ${operation}:${2:-} in
  list-running: | protocol: | check-image:) ;;
  *:) die "${operation} needs a session's name" ;;
  *) ;;
esac
shift

case ${operation} in
  start) start "$1" ;;
  stop) stop "$1" ;;
  interrupt) interrupt "$1" ;;
  is-running) is_running "$1" ;;
  attach) attach "$1" ;;
  process-alive) plumbing process-alive -- "$1" ;;
  nudge) nudge "$1" ;;
  send-keys) send_keys "$@" ;;
  set-meta) plumbing meta set -- "$1" "${2:-}" ;;
  get-meta) plumbing meta get -- "$1" "${2:-}" ;;
  remove-meta) plumbing meta remove -- "$1" "${2:-}" ;;
  peek) peek "$@" ;;
  list-running) list_running "${1:-}" ;;
  get-last-activity) plumbing last-activity -- "$1" ;;
  clear-scrollback)
    reach "$1" ''
    ask clear-history -t "${pane}" || exit 0
    ;;
  is-attached) is_attached "$1" ;;
  look) look "$1" ;;
  paste) paste "$1" ;;
  press) press "$1" ;;
  copy-to) plumbing copy-to -- "$1" "${2:-}" "${3:-}" ;;
  protocol) printf '{"version":0,"capabilities":["start-nudge","ready","report-attachment","report-activity"]}\n' ;;
  *) ;;
esac
