#!/bin/sh
# A session backend in GNU screen: a server of its own for each session, private unless FAIRWAY_BACKEND_SOCKET names a directory of
# sockets or says `default`. The program's terminal is kept and typed into by `fairway adapter`; screen shows it.
# Speaks the exec session protocol: screen.sh <operation> <session-name> [args…].
set -u

fairway=${FAIRWAY_BIN:-fairway}
newline='
'

die() {
  printf 'screen.sh: %s\n' "$*" >&2
  exit 1
}

# What the plumbing answers; it says itself why it does not.
plumbing() {
  "${fairway}" adapter "$@" || exit 1
}

# The sessions' directories, the binary and this script as absolute paths: panes are elsewhere.
absolute() {
  case $1 in
    /*) printf '%s' "$1" ;;
    *) printf '%s/%s' "${PWD}" "$1" ;;
  esac
}
self=$(absolute "$0")
case ${fairway} in
  */*) fairway=$(absolute "${fairway}") ;;
  *) ;;
esac
state=${FAIRWAY_ADAPTER_STATE:-${GC_EXEC_STATE_DIR:-}}
if [ -n "${state}" ]; then
  state=$(absolute "${state}")
  export FAIRWAY_ADAPTER_STATE="${state}"
fi

# ---- a session

# Finds one: its directory, whether its root process lives, and what start noted in a file there: the directory of its server's
# sockets (or `default`), its name there, and its pane, once there is one.
find_session() {
  found=$(plumbing find -- "$1") || exit 1
  [ -n "${found}" ] || return 1
  alive=${found%%"${newline}"*}
  dir=${found#*"${newline}"}
  [ -e "${dir}/screen" ] || return 1
  pane=
  { read -r address && read -r name && { read -r pane || :; }; } <"${dir}/screen" ||
    die "${dir}/screen cannot be read"
}

# Finds one whose pane is there.
find_pane() {
  find_session "$1" && [ "${alive}" = true ] && [ -n "${pane}" ]
}

# ---- the server

# Becomes screen, at the session's server.
screen_there() {
  unset STY WINDOW
  [ "${address}" = default ] || export SCREENDIR="${address}"
  cd / || die 'there is no root directory'
  LC_ALL=C.UTF-8 exec "$@"
}

# Asks or tells the server something, with its answer in $said: false when there is none. One that does not answer, or a
# screen that cannot be run, is a failure and never an answer. The pane is `pid.name`, so no other session can be meant.
# Those who ask take turns: screen answers one at a time, and tells the others that it is gone.
ask() {
  for try in 1 2 3 4 5 6 7 8; do
    said=$(screen_there "${fairway}" adapter call --turn "${dir}/screen.turn" -- screen -S "${pane}" "$@" 2>&1)
    case $?:${said} in
      0:*) return 0 ;;
      124:* | 137:*) break ;;
      126:* | 127:*) die "screen cannot be run: ${said}" ;;
      *'No screen session found'*) return 1 ;;
      # A person may ask as well, and one that asked in vain leaves its socket.
      *'already a screen running'*)
        [ "${try}" -ne 6 ] || [ "${address}" = default ] || rm -f -- "${address}/${pane}"-query?
        sleep 0.1
        ;;
      *) die "screen failed: ${said}" ;;
    esac
  done
  die 'screen did not answer'
}

# ---- start and stop

# Takes back a start that failed or was told to end.
undo() {
  trap '' TERM INT HUP
  "${fairway}" adapter kill-tree --own-start -- "${session}"
  [ -z "${made}" ] || "${fairway}" adapter server-cleanup screen -- "${session}"
  exit 1
}

# Where the server of a session listens: in a private directory, unless the caller names one or says `default`, the person's own.
choose_server() {
  server=$(plumbing server-address screen -- "${session}") || undo
  name=${server%%"${newline}"*}
  server=${server#*"${newline}"}
  mark=${server%%"${newline}"*}
  address=${server#*"${newline}"}
  case ${FAIRWAY_BACKEND_SOCKET:-} in
    '') return 0 ;;
    *) address=${FAIRWAY_BACKEND_SOCKET} name=fairway-${name} ;;
  esac
}

# Screen takes the terminal's size from the one that it is started in, so that one is made for it, and left by `pane`.
start() {
  session=$1 made=
  command -v screen >/dev/null || die "there is no program 'screen'"
  case ${FAIRWAY_BACKEND_SOCKET:-default} in
    default | /*) ;;
    *) die "FAIRWAY_BACKEND_SOCKET is neither 'default' nor an absolute path: ${FAIRWAY_BACKEND_SOCKET}" ;;
  esac
  trap undo TERM INT HUP
  "${fairway}" adapter unpack -- "${session}" || undo
  made=yes
  choose_server
  rows=$(plumbing get -- "${session}" rows) || undo
  cols=$(plumbing get -- "${session}" cols) || undo
  dir=$(plumbing get -- "${session}" session-dir) || undo
  "${fairway}" adapter server-cleanup screen -- "${session}" || undo
  (umask 077 && printf '%s\n' "${address}" "${name}" >"${dir}/screen") || undo
  terminal=screen
  TERM=screen-256color infocmp >/dev/null 2>&1 && terminal=screen-256color
  (umask 077 && printf '%s\n' 'startup_message off' 'deflogin off' 'defutf8 on' 'defscrollback 10000' 'altscreen on' \
    'vbell off' 'defflow off' "term ${terminal}" >"${dir}/screenrc") || undo
  set -- env "${mark}" "FAIRWAY_ADAPTER_STATE=${dir%/*}" "FAIRWAY_BIN=${fairway}" TERM=xterm SYSSCREENRC=/dev/null \
    screen -c "${dir}/screenrc" -S "${name}" -- "${self}" pane "${session}"
  (screen_there "${fairway}" adapter run-offscreen -- "${rows}" "${cols}" "${fairway}" adapter exec-clean -- "$@") || undo
  { read -r _ && read -r _ && read -r pane; } <"${dir}/screen" || {
    printf 'screen.sh: screen has made no window\n' >&2
    undo
  }
  "${fairway}" adapter finish-start --pane "${pane}" --socket "${address}" -- "${session}" "${self}" || undo
}

# What runs in the window: it sends the terminal that screen was started in away and looks after the program.
pane() {
  find_session "$1" || die "there is no session '$1'"
  pane=${STY:-}
  printf '%s\n' "${pane}" >>"${dir}/screen" || die "${dir}/screen cannot be written"
  (ask -X detach) || :
  exec "${fairway}" adapter run --record -- "$1"
}

# Ends the program and all it has started, and then the server, also one that does not answer.
stop() {
  plumbing kill-tree -- "$1"
  plumbing server-cleanup screen -- "$1"
}

# ---- questions

# By its processes, and not by its server: a server that does not answer says nothing about the program.
is_running() {
  if find_session "$1"; then printf '%s\n' "${alive}"; else printf 'false\n'; fi
}

process_alive() {
  if find_session "$1"; then plumbing process-alive -- "$1"; else printf 'false\n'; fi
}

last_activity() {
  if find_session "$1"; then plumbing last-activity -- "$1"; fi
}

# What its terminal shows and has shown, from the transcript: screen itself writes other letters than ASCII wrongly.
peek() {
  lines=${2:-0}
  case ${lines#-} in
    '' | *[!0-9]*) die "how many lines? '${lines}' is no number" ;;
    *) ;;
  esac
  if find_session "$1"; then plumbing replay -- "$1" "${lines}"; fi
}

is_attached() {
  attached=false
  if find_pane "$1"; then
    ask -Q info || :
    said=$(screen_there "${fairway}" adapter call --turn "${dir}/screen.turn" -- screen -ls "${pane}" 2>&1)
    [ "$?" -ne 124 ] || die 'screen did not answer'
    case ${said} in
      *"${pane}"*ttached\)*) attached=true ;;
      *) ;;
    esac
  fi
  printf '%s\n' "${attached}"
}

clear_scrollback() {
  find_pane "$1" || return 0
  # What screen is told without being asked, it does not answer.
  ask -Q info || return 0
  ask -p 0 -X scrollback 0 || return 0
  ask -p 0 -X scrollback 10000 || return 0
  plumbing replay --clear -- "$1"
}

attach() {
  if ! find_pane "$1" || ! ask -Q info; then die "there is no session '$1'"; fi
  { [ -t 0 ] && [ -t 1 ]; } || die 'attach needs a terminal'
  # One that is unknown here is most likely much like that one.
  if command -v infocmp >/dev/null && ! infocmp >/dev/null 2>&1; then export TERM=xterm-256color; fi
  screen_there screen -x "${pane}"
}

# ---- the dispatch

operation=${1:-}
case ${operation} in
  start | stop | interrupt | is-running | attach | process-alive | nudge | send-keys | peek | get-last-activity) ;;
  set-meta | get-meta | remove-meta | clear-scrollback | is-attached | pane) ;;
  list-running | protocol | copy-to | check-image) ;;
  '') die 'usage: screen.sh <operation> <session-name> [args…]' ;;
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
  interrupt) plumbing press-keys -- "$1" C-c ;;
  is-running) is_running "$1" ;;
  attach) attach "$1" ;;
  process-alive) process_alive "$1" ;;
  nudge) exec "${fairway}" adapter type -- "$1" ;;
  send-keys) plumbing press-keys -- "$@" ;;
  set-meta) plumbing meta set -- "$1" "${2:-}" ;;
  get-meta) plumbing meta get -- "$1" "${2:-}" ;;
  remove-meta) plumbing meta remove -- "$1" "${2:-}" ;;
  peek) peek "$@" ;;
  list-running) plumbing list-running --with screen -- "${1:-}" ;;
  get-last-activity) last_activity "$1" ;;
  clear-scrollback) clear_scrollback "$1" ;;
  is-attached) is_attached "$1" ;;
  copy-to) plumbing copy-to -- "$1" "${2:-}" "${3:-}" ;;
  check-image) ;;
  protocol) printf '{"version":0,"capabilities":["start-nudge","ready","report-attachment","report-activity"]}\n' ;;
  pane) pane "$1" ;;
  *) exit 2 ;;
esac
