#!/usr/bin/env bash
# Finds the tests that fail now and then: runs the suite under load, without repetitions, and names each test that failed.
#
#   tests/flaky.sh [RUNS [EXPRESSION]]    ten runs of all tests by default; 1 when a test failed in any of them
#
# The load is two builds of the program in directories of their own, which begin again until the runs have ended.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-10}
expression=${2:-all()}
node=$(tests/node.sh)
zellij=$(tests/zellij.sh)
schemathesis=$(tests/schemathesis.sh)
export PATH="${node}:${PATH}:${zellij}:${schemathesis}" FAIRWAY_REQUIRE_ALL=1 NEXTEST_RETRIES=0

cargo nextest run --locked --features postgres --no-run
tests/copy-programs.sh
directory=$(mktemp --directory /var/tmp/fairway-flaky.XXXXXX)
loads=()
stop() {
  # Each load is a process group of its own, with the compilers that it started.
  for load in "${loads[@]}"; do kill -- "-${load}" 2>/dev/null || true; done
  rm -rf --one-file-system -- "${directory}"
}
trap stop EXIT
set -m
for number in 1 2; do
  while cargo build --locked --quiet --features postgres --target-dir "${directory}/target-${number}"; do
    rm -rf --one-file-system -- "${directory}/target-${number}"
  done &
  loads+=($!)
done
set +m

failed=${directory}/failed
: >"${failed}"
for ((run = 1; run <= runs; run++)); do
  printf '== run %d of %d\n' "${run}" "${runs}"
  code=0
  tests/in-memory.sh cargo nextest run --locked --features postgres --no-fail-fast -E "${expression}" >"${directory}/run" 2>&1 || code=$?
  grep -E '^ +Summary' "${directory}/run" || tail -20 "${directory}/run"
  sed -nE 's/^ +(FAIL|TIMEOUT|SIG[A-Z]+) \[[^]]*\] (\([^)]*\) )?//p' "${directory}/run" | sort -u | tee -a "${failed}"
  if ((code != 0)) && [[ ! -s "${failed}" ]]; then
    printf 'error: the run ended with %d and named no test\n' "${code}" >&2
    exit 1
  fi
done
if [[ -s "${failed}" ]]; then
  printf '== failed, with the number of runs of %d\n' "${runs}"
  sort "${failed}" | uniq -c | sort -rn
  exit 1
fi
printf '== no test failed in %d runs\n' "${runs}"
