#!/usr/bin/env bash
# Checks the merge gates of a task: annotations, a summary, the output `ready`, and on request a comment on the pull request.
# Exits as `fairway merge-ready` does.
set -euo pipefail
: "${TASK:?}" "${DIRECTORY:?}" "${BASE=}" "${COMMENT=}" "${PULL_REQUEST=}" "${GITHUB_OUTPUT:?}"

base=()
if [[ -n "${BASE}" ]]; then
  base=(--base "${BASE}")
fi
summary=$(mktemp)
trap 'rm -f -- "${summary}"' EXIT
code=0
GITHUB_STEP_SUMMARY="${summary}" fairway --root "${DIRECTORY}" merge-ready --format github "${base[@]}" -- "${TASK}" || code=$?
cat -- "${summary}" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
case ${code} in
  0) printf 'ready=true\n' >>"${GITHUB_OUTPUT}" ;;
  5) printf 'ready=false\n' >>"${GITHUB_OUTPUT}" ;;
  *) exit "${code}" ;;
esac
if [[ "${COMMENT}" = true && -n "${PULL_REQUEST}" ]]; then
  gh pr comment "${PULL_REQUEST}" --body-file "${summary}" --edit-last --create-if-none
fi
exit "${code}"
