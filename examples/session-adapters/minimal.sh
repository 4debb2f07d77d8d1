#!/bin/sh
# The smallest session backend: start, stop and is-running, in POSIX sh with awk, setsid and flock. Everything else is
# answered with exit code 2, "not known". Copy it and put your multiplexer where `setsid` stands.
#
#   fairway session launch --role ROLE --backend exec:./minimal.sh -- PROGRAM…
#   fairway adapter check ./minimal.sh
set -u

die() {
  printf 'minimal.sh: %s\n' "$*" >&2
  exit 1
}

# The caller names the folder for state, the same one from inside and outside a session; a temporary folder would not be.
state=${GC_EXEC_STATE_DIR:-${XDG_STATE_HOME:-${HOME:-}/.local/state}/minimal-sessions}

# A name may be any text: its folder is called by its bytes.
folder() {
  printf '%s/' "${state}"
  printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'
}

# The folder is also a session's mark in the environment of everything that it runs. By it is found what left its group, its
# session or its parent. What cleans its environment is not found.
mark=MINIMAL_SESSION

# Whether the root process of the session in this folder lives; the mark tells it from another one of its number.
alive() {
  pid=$(cat "$1/pid" 2>/dev/null) || return 1
  grep -qzFx -- "${mark}=$1" "/proc/${pid}/environ" 2>/dev/null
}

# TERM first, KILL after about two seconds, and no return before all are gone.
end_all() {
  tries=0
  while :; do
    # Not this script itself, which may run inside the session.
    left=$(grep -lzFx -- "${mark}=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | grep -vx "$$")
    [ -n "${left}" ] || return 0
    case ${tries} in
      0) signal=TERM ;;
      [1-9] | [123][0-9]) signal=0 ;;
      140) die "would not die: ${left}" ;;
      *) signal=KILL ;;
    esac
    for pid in ${left}; do
      kill -s "${signal}" "${pid}" 2>/dev/null
    done
    tries=$((tries + 1))
    sleep 0.05
  done
}

# start NAME: the configuration comes on stdin. A live session of that name is refused, a dead one makes room.
start() {
  dir=$(folder "$1")
  umask 077
  mkdir -p "${state}" || die "cannot make ${state}"
  # One start at a time. The session must not inherit the lock, nor hold stdout or stderr open.
  touch "${state}/.lock" || die "cannot lock ${state}"
  exec 9>>"${state}/.lock"
  flock 9 || die "cannot lock ${state}"
  ! alive "${dir}" || die "session '$1' already exists"
  end_all "${dir}"
  rm -rf "${dir}"
  mkdir "${dir}" || die "cannot make ${dir}"
  if ! { cat >"${dir}/start" && field words <"${dir}/start" >"${dir}/words"; }; then
    rm -rf "${dir}"
    die 'stdin holds no start configuration'
  fi
  work_dir=$(field folder <"${dir}/start")
  if ! cd -- "${work_dir}"; then
    rm -rf "${dir}"
    die 'work_dir is not there'
  fi
  # What surrounds this call may be another session; nothing of it is handed on.
  for name in $(env | sed -n -e 's/^\(FAIRWAY_[A-Za-z0-9_]*\)=.*/\1/p' -e 's/^\(GC_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset -v "${name}"
  done
  env "${mark}=${dir}" setsid xargs -0 env <"${dir}/words" >"${dir}/output" 2>&1 9>&- &
  root=$!
  printf '%s\n' "${root}" >"${dir}/pid"
  # From now on is-running tells the truth, also when the program has ended already.
  until alive "${dir}" || ! grep -q '^State:[[:space:]]*[RSDT]' "/proc/${root}/status" 2>/dev/null; do
    sleep 0.02
  done
}

# stop NAME: everything the session started is gone when it returns. One that is not there is no failure.
stop() {
  dir=$(folder "$1")
  end_all "${dir}"
  rm -rf "${dir}"
}

# is-running NAME: true or false.
is_running() {
  dir=$(folder "$1")
  if alive "${dir}"; then echo true; else echo false; fi
}

# The rest reads the start configuration. `field folder` prints `work_dir`; `field words` prints the words of `env`, each
# with a NUL behind it: what to unset (an empty value), what to set, what to run. Values are never read by a shell. Text
# that is no JSON object is an error.
field() {
  LC_ALL=C awk -v want="$1" '
    function fail() { bad = 1; exit 1 }
    function blank() { while (substr(text, at, 1) ~ /[ \t\r\n]/) at++ }
    function utf8(n) {
      if (n < 128) return sprintf("%c", n)
      if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
      if (n < 65536) return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
      return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64)
    }
    function hex(digits,    n, i) {
      for (i = 1; i <= 4; i++) n = n * 16 + index("123456789abcdef", tolower(substr(digits, i, 1)))
      return n
    }
    function string(    s, c, n) {
      if (substr(text, at++, 1) != "\"") fail()
      for (;;) {
        if (match(substr(text, at, 4096), /^[^"\\]+/)) {
          s = s substr(text, at, RLENGTH)
          at += RLENGTH
          continue
        }
        c = substr(text, at++, 1)
        if (c == "\"") return s
        if (c == "") fail()
        c = substr(text, at++, 1)
        if (c == "u") {
          n = hex(substr(text, at, 4))
          at += 4
          if (n >= 55296 && n < 56320) {
            n = 65536 + (n - 55296) * 1024 + hex(substr(text, at + 2, 4)) - 56320
            at += 6
          }
          s = s utf8(n)
        } else {
          s = s (c in escape ? escape[c] : c)
        }
      }
    }
    function value(path,    c, key) {
      blank()
      c = substr(text, at, 1)
      if (c == "\"") {
        found[path] = string()
        return
      }
      if (c != "{" && c != "[") {
        if (!match(substr(text, at), /^[-+.0-9a-zA-Z]+/)) fail()
        at += RLENGTH
        return
      }
      at++
      blank()
      while (substr(text, at, 1) !~ /[]}]/) {
        if (c == "{") {
          blank()
          key = string()
          blank()
          if (substr(text, at++, 1) != ":") fail()
        }
        value(path SUBSEP key)
        blank()
        if (substr(text, at, 1) == ",") at++
        else if (substr(text, at, 1) !~ /[]}]/) fail()
      }
      at++
    }
    BEGIN {
      split("b\bf\fn\nr\rt\t", pair, "")
      for (i = 1; i < 11; i += 2) escape[pair[i]] = pair[i + 1]
      RS = "\001"
    }
    { text = text $0 }
    END {
      at = 1
      if (!bad && text !~ /^[ \t\r\n]*[{]/) bad = 1
      if (bad) exit 1
      value("")
      if (want == "folder") {
        printf "%s", (SUBSEP "work_dir") in found ? found[SUBSEP "work_dir"] : "."
        exit
      }
      command = (SUBSEP "command") in found ? found[SUBSEP "command"] : "exec \"${SHELL:-/bin/sh}\""
      env = SUBSEP "env" SUBSEP
      for (name in found)
        if (index(name, env) == 1 && found[name] == "") printf "-u%c%s%c", 0, substr(name, length(env) + 1), 0
      for (name in found)
        if (index(name, env) == 1 && found[name] != "") printf "%s=%s%c", substr(name, length(env) + 1), found[name], 0
      printf "/bin/sh%c-c%c%s%c", 0, 0, command, 0
    }'
}

case ${1:-} in
  start | stop | is-running) [ -n "${2:-}" ] || die "$1 needs a session's name" ;;
  *) exit 2 ;;
esac
case $1 in
  start) start "$2" ;;
  stop) stop "$2" ;;
  *) is_running "$2" ;;
esac
