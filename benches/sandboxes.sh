#!/usr/bin/env bash
# The attempts of `fairway sandbox check` against sandboxes of others, each as the class `command`: a table for the guide.
# Needs npm, bubblewrap, socat and ripgrep. Usage: benches/sandboxes.sh FAIRWAY
set -euo pipefail

fairway=$(realpath "${1:?the built program}")
cache=${XDG_CACHE_HOME:-${HOME}/.cache}/fairway-benches/sandboxes
runtime=@anthropic-ai/sandbox-runtime@0.0.83
codex=@openai/codex@0.169.0
mkdir -p "${cache}"
npm install --prefix "${cache}" --no-audit --no-fund --no-save --loglevel error "${runtime}" "${codex}"
export PATH=${cache}/node_modules/.bin:${PATH}

# Not below /tmp, which one of them lets programs write.
work=$(mktemp -d "${cache}/work.XXXXXX")
trap 'rm -rf "${work}"' EXIT
export TMPDIR=${work} HOME=${work}/home
mkdir -p "${HOME}"
cat >"${work}/srt.json" <<'EOF'
{
  "filesystem": { "denyRead": [], "allowWrite": ["."], "denyWrite": [] },
  "network": { "allowedDomains": [], "deniedDomains": [] }
}
EOF

# Prints the document of one check. What it finds is its answer, so that exit 5 is none of a failure.
check() {
  local project=${work}/$1
  mkdir "${project}"
  git -C "${project}" init --quiet
  (cd "${project}" && "${fairway}" init --quiet >/dev/null)
  printf '[sandbox]\nclass = "command"\nprefix = %s\n' "$2" >>"${project}/.fairway.toml"
  (cd "${project}" && "${fairway}" trust --quiet >/dev/null && "${fairway}" sandbox check "$3" --json) || [[ $? = 5 ]]
}

check own '["true"]' namespace >"${work}/own.json"
check runtime "[\"srt\", \"--settings\", \"${work}/srt.json\", \"--\"]" command >"${work}/runtime.json"
check codex '["codex", "sandbox", "-c", "sandbox_mode=\"workspace-write\"", "--"]' command >"${work}/codex.json"

jq --raw-output --slurp '
  def word: if .inside then "done" else "denied" end;
  def why: if .works then "works" else "fails" end;
  "| probe | `namespace` | sandbox-runtime | Codex |", "|---|---|---|---|",
  (. as $all | (.[0].probes | keys[] | . as $at | [$all[].probes[$at] | word] as $said
     | select($said | unique | length > 1)
     | "| `\($all[0].probes[$at].name)` | \($said | join(" | ")) |"),
    (.[0].needs | keys[] | . as $at | [$all[].needs[$at] | why] as $said
     | select($said | unique | length > 1)
     | "| needs `\($all[0].needs[$at].name)` | \($said | join(" | ")) |"),
    ([$all[] | [.probes[] | select(.inside | not)] | length | tostring] | "| denied of \($all[0].probes | length) | \(join(" | ")) |"),
    ([$all[] | [.needs[] | select(.works)] | length | tostring] | "| works of \($all[0].needs | length) | \(join(" | ")) |"))
' "${work}/own.json" "${work}/runtime.json" "${work}/codex.json"
