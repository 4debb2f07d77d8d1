#!/bin/sh
# A session backend in zellij 0.44 or newer: a zellij session each, with one pane and nothing around it, in a private directory of
# sockets unless FAIRWAY_BACKEND_SOCKET names one or says `default`. The program's terminal is kept and typed into by
# `fairway adapter`; zellij shows it. Needs coreutils. Speaks the exec session protocol: zellij.sh <operation> <name> [args…].
set -u

fairway=${FAIRWAY_BIN:-fairway}
newline='
'

die() {
  printf 'zellij.sh: %s\n' "$*" >&2
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
  [ -e "${dir}/zellij" ] || return 1
  pane=
  { read -r address && read -r name && { read -r pane || :; }; } <"${dir}/zellij" ||
    die "${dir}/zellij cannot be read"
}

# Finds one whose pane is there.
find_pane() {
  find_session "$1" && [ "${alive}" = true ] && [ -n "${pane}" ]
}

# ---- the server

# Becomes zellij, at the session's server.
zellij_there() {
  unset ZELLIJ ZELLIJ_PANE_ID ZELLIJ_SESSION_NAME ZELLIJ_CONFIG_FILE ZELLIJ_CONFIG_DIR
  # It keeps its log and its notes about sessions with its sockets.
  [ "${address}" = default ] || export ZELLIJ_SOCKET_DIR="${address}" TMPDIR="${address}" XDG_CACHE_HOME="${address}"
  cd / || die 'there is no root directory'
  exec "$@"
}

# Asks or tells the server something, with its answer in $said: false when there is none. One that does not answer, or a
# zellij that cannot be run, is a failure and never an answer.
ask() {
  said=$(zellij_there timeout --foreground -k 0.1 1.8 zellij --session "${name}" action "$@" 2>&1)
  case $?:${said} in
    0:*) return 0 ;;
    124:* | 137:*) die 'zellij did not answer' ;;
    126:* | 127:*) die "zellij cannot be run: ${said}" ;;
    *'There is no active session'* | *'not found'*) return 1 ;;
    *) die "zellij failed: ${said}" ;;
  esac
}

# ---- start and stop

# Takes back a start that failed or was told to end.
undo() {
  trap '' TERM INT HUP
  "${fairway}" adapter kill-tree --own-start -- "${session}"
  [ -z "${made}" ] || "${fairway}" adapter server-cleanup --alone zellij -- "${session}"
  exit 1
}

# Where the server of a session listens: in a private directory, unless the caller names one or says `default`, the person's own.
choose_server() {
  server=$(plumbing server-address --alone zellij -- "${session}") || undo
  name=${server%%"${newline}"*}
  server=${server#*"${newline}"}
  mark=${server%%"${newline}"*}
  address=${server#*"${newline}"}
  case ${FAIRWAY_BACKEND_SOCKET:-} in
    '') return 0 ;;
    *) address=${FAIRWAY_BACKEND_SOCKET} name=fairway-${name} ;;
  esac
}

# The pane, once there is one.
find_pane_of_start() {
  { read -r _ && read -r _ && read -r pane; } <"${dir}/zellij" || pane=
  [ -n "${pane}" ]
}

# Whether a client is listed: one line for each, below a heading.
is_listed() {
  case ${said} in
    *"${newline}"*) ;;
    *) return 1 ;;
  esac
}

# Starts the server with an off-screen terminal, and closes that once zellij knows it: gone before, it would take the
# whole session along.
make_session() {
  (zellij_there "${fairway}" adapter run-offscreen -- "${rows}" "${cols}" "${fairway}" adapter exec-clean -- "$@") &
  hidden=$!
  while kill -0 "${hidden}" 2>/dev/null; do
    if find_pane_of_start && (ask list-clients && is_listed); then
      kill "${hidden}" 2>/dev/null
      break
    fi
    sleep 0.05
  done
  wait "${hidden}"
}

# Zellij takes the terminal's size from the one that it is started in, so that one is made for it.
start() {
  session=$1 made="" pane=""
  command -v zellij >/dev/null || die "there is no program 'zellij'"
  case ${FAIRWAY_BACKEND_SOCKET:-default} in
    default | /*) ;;
    *) die "FAIRWAY_BACKEND_SOCKET is neither 'default' nor an absolute path: ${FAIRWAY_BACKEND_SOCKET}" ;;
  esac
  trap undo TERM INT HUP
  "${fairway}" adapter unpack -- "${session}" || undo
  made=yes
  "${fairway}" adapter server-cleanup --alone zellij -- "${session}" || undo
  # Zellij removes the sockets of others that do not answer yet, so each has a directory to itself.
  choose_server
  rows=$(plumbing get -- "${session}" rows) || undo
  cols=$(plumbing get -- "${session}" cols) || undo
  dir=$(plumbing get -- "${session}" session-dir) || undo
  (umask 077 && printf '%s\n' "${address}" "${name}" >"${dir}/zellij") || undo
  (umask 077 && printf '%s\n' 'show_release_notes false' 'show_startup_tips false' 'session_serialization false' \
    'disable_session_metadata true' 'web_server false' 'web_sharing "disabled"' 'pane_frames false' \
    'default_mode "locked"' 'scroll_buffer_size 10000' 'on_force_close "detach"' 'load_plugins {' '}' \
    >"${dir}/config.kdl") || undo
  set -- env "${mark}" "FAIRWAY_ADAPTER_STATE=${dir%/*}" "FAIRWAY_BIN=${fairway}" TERM=xterm-256color \
    COLORTERM=truecolor zellij --config "${dir}/config.kdl" --config-dir "${dir}" --layout-string 'layout { pane; }' \
    attach --create --close-on-exit "${name}" -- "${self}" pane "${session}"
  # Of several that start at once one may lose its server before it has a pane: then nothing was run yet.
  for _ in 1 2 3; do
    said=$(make_session "$@" 2>&1)
    find_pane_of_start && break
    "${fairway}" adapter server-cleanup zellij -- "${session}" || undo
  done
  if [ -z "${pane}" ]; then
    printf 'zellij.sh: zellij has made no pane: %s\n' "${said}" >&2
    undo
  fi
  "${fairway}" adapter finish-start --pane "${pane}" --socket "${address}" -- "${session}" "${self}" || undo
  # Of a program that has ended already; one that lives is left alone.
  "${fairway}" adapter server-cleanup --alone zellij -- "${session}" || :
}

# What runs in the pane: it looks after the program, and ends the zellij session with it.
pane() {
  find_session "$1" || die "there is no session '$1'"
  pane=terminal_${ZELLIJ_PANE_ID:-0}
  printf '%s\n' "${pane}" >>"${dir}/zellij" || die "${dir}/zellij cannot be written"
  "${fairway}" adapter run --record -- "$1"
  # Its end is this one's, too, but for what is left to be cleared away.
  trap '' HUP TERM
  (zellij_there zellij kill-session "${name}")
  "${fairway}" adapter server-cleanup --alone zellij -- "$1"
}

# Ends the program and all it has started, and then the server, also one that does not answer.
stop() {
  plumbing kill-tree -- "$1"
  plumbing server-cleanup --alone zellij -- "$1"
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

# The last lines of a text, all for 0 or less; neither padding at the end of lines nor blank lines at the end.
last_lines() {
  LC_ALL=C awk -v "lines=$1" '
    { sub(/[ \t\r]+$/, ""); line[NR] = $0; if ($0 != "") last = NR }
    END { for (i = lines > 0 && last > lines ? last - lines + 1 : 1; i <= last; i++) print line[i] }'
}

# What its pane shows and has shown; once it has ended, what was kept.
peek() {
  lines=${2:-0}
  case ${lines#-} in
    '' | *[!0-9]*) die "how many lines? '${lines}' is no number" ;;
    *) ;;
  esac
  find_session "$1" || return 0
  if find_pane "$1" && show; then
    printf '%s\n' "${said}" | last_lines "${lines}"
  else
    plumbing peek -- "$1" "${lines}"
  fi
}

show() {
  ask dump-screen --full --pane-id "${pane}" || return 1
  # On a busy machine zellij has answered with nothing for a pane that was full: an empty answer is asked for once more.
  [ -n "${said}" ] || ask dump-screen --full --pane-id "${pane}"
}

is_attached() {
  attached=false
  if find_pane "$1" && ask list-clients && is_listed; then attached=true; fi
  printf '%s\n' "${attached}"
}

clear_scrollback() {
  find_pane "$1" || return 0
  ask clear --pane-id "${pane}" || return 0
}

attach() {
  if ! find_pane "$1" || ! ask list-clients; then die "there is no session '$1'"; fi
  { [ -t 0 ] && [ -t 1 ]; } || die 'attach needs a terminal'
  zellij_there zellij --config "${dir}/config.kdl" --config-dir "${dir}" attach "${name}"
}

# ---- the dispatch

operation=${1:-}
case ${operation} in
  start | stop | interrupt | is-running | attach | process-alive | nudge | send-keys | peek | get-last-activity) ;;
  set-meta | get-meta | remove-meta | clear-scrollback | is-attached | pane) ;;
  list-running | protocol | copy-to | check-image) ;;
  '') die 'usage: zellij.sh <operation> <session-name> [args…]' ;;
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
  list-running) plumbing list-running --with zellij -- "${1:-}" ;;
  get-last-activity) last_activity "$1" ;;
  clear-scrollback) clear_scrollback "$1" ;;
  is-attached) is_attached "$1" ;;
  copy-to) plumbing copy-to -- "$1" "${2:-}" "${3:-}" ;;
  check-image) ;;
  protocol) printf '{"version":0,"capabilities":["start-nudge","ready","report-attachment","report-activity"]}\n' ;;
  pane) pane "$1" ;;
  *) exit 2 ;;
esac
