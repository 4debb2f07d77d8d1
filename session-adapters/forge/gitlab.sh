#!/bin/sh
# A forge script for GitLab, with `glab api` (glab 1.53 or newer, logged in) and jq:
#   gitlab.sh find BRANCH | open [NUMBER] | state NUMBER | log CHECK | say NUMBER WHAT [ID] | issues [open|all]
# FAIRWAY_FORGE_REMOTE is the address of the git remote. Exit code 0: done; 1: not done, and `why` on stdout; 2: unknown operation.
# GitLab cannot say some things. An approval names no commit: it has one only where the project drops approvals at each push.
# A request for changes is a comment. The name of a bot is like that of a person. Every job that may not fail is a demanded check.
# shellcheck disable=SC2016 # What stands in quotes belongs to jq.
set -u
export NO_PROMPT=1 GLAB_CHECK_UPDATE=false GLAB_SEND_TELEMETRY=0 NO_COLOR=1 LC_ALL=C

# fail WHY TEXT [SECONDS]: the answer of what was not done.
fail() {
  text=$(printf '%s' "$2" | tr '\000-\037\177' ' ' | cut -c 1-2000 | sed 's/[\\"]/\\&/g')
  printf '{"why":"%s","message":"%s","seconds":%s}\n' "$1" "${text}" "${3:-null}"
  exit 1
}

case ${1:-} in find | open | state | log | say | issues) ;; *) exit 2 ;; esac
operation=$1
shift
for program in glab jq timeout awk mktemp; do
  command -v "${program}" >/dev/null 2>&1 ||
    fail missing "the program ${program} is missing; glab is in the package glab, and logs in with: glab auth login"
done

# Host and path of the address: git@HOST:GROUP/NAME.git, https://HOST/GROUP/SUBGROUP/NAME, ssh://git@HOST:22/GROUP/NAME.git
address=${FAIRWAY_FORGE_REMOTE:-}
address=${address%/}
address=${address%.git}
case ${address} in
  *://*) place=${address#*://} path=${place#*/} host=${place%%/*} ;;
  *) path=${address#*:} host=${address%%:*} ;;
esac
host=${host#*@}
host=${host%:*}
case ${path} in
  */*) ;;
  *) fail refused "the address of the remote names no project: ${address}" ;;
esac
case ${host}/${path} in *[!A-Za-z0-9._/-]* | *//* | */. | */..*) fail refused "the address of the remote names no project: ${address}" ;; *) ;; esac
project=projects/$(printf '%s' "${path}" | jq -sRr @uri)

work=$(mktemp -d) || fail refused "no temporary directory can be made"
trap 'rm -rf "${work}"' EXIT
trap 'exit 1' HUP INT TERM
case ${operation} in open | say) cat >"${work}/in" ;; *) ;; esac

number() { case ${1:-} in '' | *[!0-9]*) fail refused "$2 is no number: ${1:-}" ;; *) ;; esac }
header() { sed -n "s/^$1: *//Ip" "${work}/head" | sed -n 1p; }
stop() { fail "${why}" "${text}" "${seconds:-null}"; }
must() { api "$@" || stop; }

# api METHOD PATH [ARGS]: one call. Body in ${work}/body; returns 0, or 1 with why, text and seconds. A body comes from ${work}/out.
api() {
  method=$1
  at=$2
  shift 2
  [ "${method}" = GET ] || set -- "$@" --input "${work}/out" --header 'Content-Type: application/json'
  timeout 20 glab api -i --hostname "${GITLAB_HOST:-${host}}" --method "${method}" "${project}${at}" "$@" >"${work}/raw" 2>"${work}/err" </dev/null
  code=$?
  : >"${work}/head"
  : >"${work}/body"
  awk -v head="${work}/head" -v body="${work}/body" '
    done { print > body; next }
    { sub(/\r$/, "") }
    $0 == "" { done = 1; next }
    { print > head }' "${work}/raw"
  status=$(sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p' "${work}/head")
  text=$(jq -r '[.message // .error // empty | if type == "object" then to_entries[] | "\(.key) \(.value | tostring)" else tostring end]
    | join("; ")' "${work}/body" 2>/dev/null)
  err=$(tr '\n' ' ' <"${work}/err")
  text=${text:-${err:-no answer}}
  seconds=
  why=refused
  case ${code}:${status} in
    *:2*)
      [ "${code}" = 0 ] && return 0
      why=network text="the answer was cut"
      ;;
    124:*) why=network text="no answer within 20 s" ;;
    *:401) why=login text="${text}; log in again: glab auth login" ;;
    *:)
      why=network
      case ${err} in *401* | *oken* | *'auth login'*) why=login ;; *'nknown flag'*) why=refused ;; *) ;; esac
      ;;
    *:403) why=rights text="${text}; the login must have the role Developer and the scope api" ;;
    *:404 | *:410) why=missing text="${text}: it is not there, or this login may not see it" ;;
    *:429)
      why=busy seconds=$(header Retry-After)
      case ${seconds} in '' | *[!0-9]*) seconds=60 ;; *) ;; esac
      ;;
    *:5*) why=network text="status ${status}: ${text}" ;;
    *) ;;
  esac
  return 1
}

# cached MINUTES FILE PATH FILTER: what a filter makes of a call that is made at most once in so many minutes.
cached() {
  file=${FAIRWAY_ADAPTER_STATE:-${work}}/gitlab-$(printf '%s' "${host}-${path}-$2" | tr / -)
  fresh=$(find "${file}" -mmin "-$1" 2>/dev/null)
  if [ -z "${fresh}" ]; then
    # What is not there has no members.
    api GET "$3" || { [ "${why}" = missing ] && echo '{}' >"${work}/body"; } || return 1
    jq -c "$4" "${work}/body" >"${file}.new" && mv "${file}.new" "${file}" || return 1
  fi
  cat "${file}"
}

# all FILE PATH: the first 1,000 elements of a list, in a file; ${more} says whether there are others.
all() {
  : >"${work}/all"
  page=0
  more=true
  while [ "${more}" = true ] && [ "${page}" -lt 10 ]; do
    page=$((page + 1))
    api GET "$2&per_page=100&page=${page}" || return 1
    jq -c '.[]' "${work}/body" >>"${work}/all"
    count=$(jq length "${work}/body")
    [ "${count}" = 100 ] || more=false
  done
  jq -sc . "${work}/all" >"${work}/$1"
}

pull='{number: .iid, url: .web_url, state: (if .state == "merged" or .state == "closed" then .state else "open" end),
  draft, head: .sha, base: .target_branch}'

find_of() {
  [ -n "${1:-}" ] || fail refused "find needs a branch"
  branch=$(printf '%s' "$1" | jq -sRr @uri)
  must GET "/merge_requests?state=all&per_page=50&source_branch=${branch}"
  jq -c "[.[] | select(.source_project_id == .target_project_id)] | (map(select(.state == \"opened\")) + .)[0]
    | if . then ${pull} else null end" "${work}/body"
}

# A draft has a title that says so.
open_of() {
  draft=false
  if [ -n "${1:-}" ]; then
    number "$1" "the merge request"
    must GET "/merge_requests/$1"
    draft=$(jq .draft "${work}/body")
  fi
  jq -c --argjson draft "${draft}" '{title: (if .title and (.draft or $draft) then "Draft: " + .title else .title end), description: .body,
    source_branch: .head, target_branch: .base} | with_entries(select(.value != null))' "${work}/in" >"${work}/out" ||
    fail refused "stdin is no JSON object"
  if [ -n "${1:-}" ]; then must PUT "/merge_requests/$1"; else must POST /merge_requests; fi
  jq -c "${pull}" "${work}/body"
}

state='def who: .author.username // "";
def written: {id: "\(.id)", author: who, body, edited: (if .resolved or .updated_at == .created_at then null else .updated_at end)};
[$talks[][] | .notes |= map(select(.system | not)) | select(.notes | length > 0)] as $talks
| ($talks | map(select(.notes[0].type == "DiffNote"))) as $threads
| '"${pull}"' + {mergeable: (if .has_conflicts then false
    elif ([.detailed_merge_status] | inside(["checking", "unchecked", "preparing", "approvals_syncing"])) then null else true end),
  merged_commit: (if .state == "merged" then .merge_commit_sha // .squash_commit_sha // .sha else null end),
  checks: ($checks[0] | if . then map({id: "\(.id)", name, required: (.allow_failure | not), url: .target_url, state:
    (if .status == "success" or .status == "skipped" or .status == "manual" then "passed" elif .status == "failed" then "failed"
     elif .status == "canceled" then "cancelled" else "pending" end)}) else null end),
  reviews: (.sha as $head | [$approvals[0].approved_by[]?.user.username
    | {id: "\(.) \($head)", author: ., verdict: "approved", commit: (if $resets then $head else null end), body: ""}]),
  threads: ($threads | map(.notes[0] as $first | {id, file: ($first.position | .new_path // .old_path),
    line: ($first.position | .new_line // .old_line), side: (if $first.position.new_line then "new" else "old" end),
    commit: $first.position.head_sha, resolved: ($first.resolved // false), resolved_by: $first.resolved_by.username,
    comments: [.notes[] | written]})),
  comments: [$talks - $threads | .[].notes[] | written],
  people: $people}'

state_of() {
  number "${1:-}" "the merge request"
  must GET "/merge_requests/$1"
  cp "${work}/body" "${work}/request"
  head=$(jq -r .sha "${work}/body")
  # A login that may not see the jobs, and more of them than are read: none is known.
  all checks "/repository/commits/${head}/statuses?ref=" || [ "${why}" = rights ] || stop
  if [ "${more}" = true ] || ! [ -e "${work}/checks" ]; then echo null >"${work}/checks"; fi
  must GET "/merge_requests/$1/approvals"
  cp "${work}/body" "${work}/approvals"
  all talks "/merge_requests/$1/discussions?" || stop
  resets=$(cached 60 resets /approvals '.reset_approvals_on_push == true') || resets=false
  jq -r '.[].notes[] | select(.system | not) | .author | "\(.id) \(.username)"' "${work}/talks" >"${work}/authors"
  jq -r '.approved_by[]?.user | "\(.id) \(.username)"' "${work}/approvals" >>"${work}/authors"
  sort -u "${work}/authors" >"${work}/people"
  people='{}'
  while read -r id login; do
    case ${id} in '' | *[!0-9]*) continue ;; *) ;; esac
    right=$(cached 1440 "right-${id}" "/members/all/${id}" '.access_level >= 30') || right=null
    people=$(printf '%s' "${people}" | jq -c --arg login "${login}" --argjson right "${right}" '.[$login] = $right')
  done <"${work}/people"
  jq -c --slurpfile talks "${work}/talks" --slurpfile checks "${work}/checks" --slurpfile approvals "${work}/approvals" \
    --argjson resets "${resets}" --argjson people "${people}" "${state}" "${work}/request"
}

log_of() {
  number "${1:-}" "the check"
  must GET "/jobs/$1/trace"
  tail -n 60 "${work}/body" | tail -c 20000 | tr -d '\000-\010\013-\037\177' | sed 's/\[[0-9;]*[mK]//g' | jq -sRc '{log: .}'
}

# send METHOD PATH FILTER: a call whose body is made of stdin.
send() {
  jq -c "$3" "${work}/in" >"${work}/out" || fail refused "stdin is no JSON object"
  must "$1" "$2"
}

# say NUMBER comment | reply COMMENT | resolve THREAD | review | merge | ready | draft
say_of() {
  number "${1:-}" "the merge request"
  request="/merge_requests/$1"
  case ${2:-} in
    comment) send POST "${request}/notes" '{body}' ;;
    reply)
      number "${3:-}" "the comment"
      all talks "${request}/discussions?" || stop
      thread=$(jq -r --argjson id "$3" '.[] | select(any(.notes[]; .id == $id)) | .id' "${work}/talks")
      [ -n "${thread}" ] || fail missing "the comment $3 is not there"
      send POST "${request}/discussions/${thread}/notes" '{body}'
      ;;
    resolve)
      case ${3:-} in '' | *[!A-Za-z0-9]*) fail refused "resolve needs a thread" ;; *) ;; esac
      echo '{"resolved":true}' >"${work}/out"
      must PUT "${request}/discussions/$3"
      ;;
    review)
      must GET "${request}"
      refs=$(jq -c '.diff_refs' "${work}/body")
      count=$(jq '.comments // [] | length' "${work}/in")
      while [ "${count}" -gt 0 ]; do
        count=$((count - 1))
        send POST "${request}/discussions" ".comments[${count}] | {body, position: (${refs} + {position_type: \"text\", new_path: .path,
          old_path: .path} + if .side == \"LEFT\" then {old_line: .line} else {new_line: .line} end)}"
      done
      body=$(jq -r '.body // ""' "${work}/in")
      [ -z "${body}" ] || send POST "${request}/notes" '{body}'
      event=$(jq -r .event "${work}/in")
      # The forge refuses an approval when the branch has moved.
      [ "${event}" != APPROVE ] || send POST "${request}/approve" '{sha: .commit_id}'
      ;;
    merge) send PUT "${request}/merge" '{sha, squash: (.merge_method == "squash")}' ;;
    ready | draft)
      must GET "${request}"
      jq -c --arg what "$2" '{title: ((if $what == "draft" then "Draft: " else "" end) + (.title | sub("^(Draft: )+"; "")))}' \
        "${work}/body" >"${work}/out"
      must PUT "${request}"
      ;;
    *) fail refused "say cannot ${2:-nothing}" ;;
  esac
  printf '{"done":true}\n'
}

issues_of() {
  case ${1:-open} in open) which=opened ;; all) which=all ;; *) fail refused "issues are open or all: $1" ;; esac
  all issues "/issues?state=${which}" || stop
  jq -c --argjson more "${more}" '{more: $more, issues: map({number: .iid, title, body: .description, labels, url: .web_url,
    state: (if .state == "opened" then "open" else .state end), createdAt: .created_at, updatedAt: .updated_at, closedAt: .closed_at})}' "${work}/issues"
}

"${operation}_of" "$@"
