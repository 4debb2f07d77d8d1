#!/usr/bin/env bash
# Installs the release that the inputs name, for the steps that follow.
set -euo pipefail
: "${VERSION:?}" "${REPOSITORY:?}" "${SHA256=}" "${RUNNER_TEMP:?}" "${GITHUB_ACTION_PATH:?}" "${GITHUB_PATH:?}"

prefix=${RUNNER_TEMP}/fairway
installer=${GITHUB_ACTION_PATH}/../../../packaging/install.sh
pin=()
if [[ -n "${SHA256}" ]]; then
  pin=(--sha256 "${SHA256}")
fi
sh "${installer}" --version "${VERSION}" --repository "${REPOSITORY}" --prefix "${prefix}" "${pin[@]}"
printf '%s\n' "${prefix}/bin" >>"${GITHUB_PATH}"
