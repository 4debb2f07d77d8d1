#!/usr/bin/env bash
# Two checkouts of one repository, as on two machines, with one queue on a PostgreSQL server. Everything happens in a temporary directory, the
# server too. Exits non-zero if a step does not hold.
set -euo pipefail
FAIRWAY=${FAIRWAY:-fairway}
# Debian does not put the server's programs into PATH.
programs=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
[[ -n "${programs}" ]] || {
  echo "PostgreSQL is not installed in /usr/lib/postgresql" >&2
  exit 1
}
# Nothing of a surrounding session, and no state outside of the demo.
unset "${!FAIRWAY_@}" "${!PG@}"
demo=$(mktemp -d)
export GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.invalid GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.invalid

# PostgreSQL refuses to run as root.
as_server=()
[[ "${EUID}" -ne 0 ]] || as_server=(setpriv --reuid=65534 --regid=65534 --clear-groups)
finish() {
  "${as_server[@]}" "${programs}/pg_ctl" -D "${demo}/server/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "${demo}"
}
trap finish EXIT

step() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'several machines: this does not hold: %s\n' "$*" >&2
  exit 1
}
# Runs a command on a machine: a checkout with a home of its own.
on() {
  local machine=$1
  shift
  printf '%s$ fairway %s\n' "${machine}" "$*" >&2
  (cd "${demo}/${machine}/shop" && HOME="${demo}/${machine}" "${FAIRWAY}" "$@")
}
# Runs a command that must be refused with this exit code.
refused() {
  local want=$1 machine=$2 got=0
  shift 2
  printf '%s$ fairway %s\n' "${machine}" "$*" >&2
  HOME="${demo}/${machine}" "${FAIRWAY}" --root "${demo}/${machine}/shop" "$@" || got=$?
  [[ "${got}" = "${want}" ]] || fail "'fairway $*' exits with ${got} on ${machine}, not ${want}"
}

step "A PostgreSQL server"
mkdir -p "${demo}/server" "${demo}/laptop" "${demo}/builder"
# The server's own user must reach its directory.
chmod 711 "${demo}"
[[ "${EUID}" -ne 0 ]] || chown 65534:65534 "${demo}/server"
cd "${demo}/server"
"${as_server[@]}" "${programs}/initdb" -D "${demo}/server/data" -U fairway -A trust -E UTF8 --locale=C --no-sync >/dev/null
"${as_server[@]}" "${programs}/pg_ctl" -D "${demo}/server/data" -w -l "${demo}/server/log" \
  -o "-k ${demo}/server -c listen_addresses= -c fsync=off" start >/dev/null
address="postgres://fairway@/postgres?host=${demo}/server&schema=shop"

step "The laptop has a project, with its tasks in a file"
git init -q -b main "${demo}/laptop/shop"
on laptop init --quiet
for task in "Fix the total" "Add gift cards" "Speed up the cart" "Round prices"; do
  on laptop task add "${task}" --quiet
done

step "Its queue moves to the server"
on laptop store copy --to "${address}" --yes
[[ -f "${demo}/laptop/shop/.fairway/fairway.db.moved" ]] || fail "the old file is not kept"
on laptop store show
git -C "${demo}/laptop/shop" add .fairway.toml
git -C "${demo}/laptop/shop" commit -q -m "the queue is on a server"

step "The builder gets the repository. It knows that the queue is on a server, and not where"
git clone -q "${demo}/laptop/shop" "${demo}/builder/shop"
refused 3 builder ready
on builder init --store "${address}" --quiet
on builder ready

step "Both claim until nothing is left, at the same time"
work() {
  local machine=$1 id
  while id=$(HOME="${demo}/${machine}" "${FAIRWAY}" --root "${demo}/${machine}/shop" --session "${machine}-1" claim --quiet); do
    printf '%s\n' "${id}" >>"${demo}/${machine}/claimed"
  done
}
for machine in laptop builder; do
  touch "${demo}/${machine}/claimed"
  on "${machine}" session upsert --id "${machine}-1" --role worker --quiet
done
work laptop &
work builder &
wait
claimed=$(sort "${demo}/laptop/claimed" "${demo}/builder/claimed" | tr '\n' ' ')
[[ "${claimed}" = "T-1 T-2 T-3 T-4 " ]] || fail "claimed was: ${claimed}"
on builder status

step "The laptop sees what the builder writes"
task=${claimed%% *}
on builder note "half of it is done" --task "${task}"
found=$(on laptop events --of-task "${task}")
[[ "${found}" = *checkpoint* ]] || fail "the laptop does not see the note: ${found}"

step "Back to a file"
on laptop store copy --to sqlite --yes
count=$(on laptop task list --quiet | wc -l)
[[ "${count}" = 4 ]] || fail "there are ${count} tasks, not 4"
refused 3 builder ready

printf '\nEvery step held.\n'
