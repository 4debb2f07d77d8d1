#!/bin/sh
# A forge script for GitHub, with `gh api` alone (gh 2.23 or newer, logged in):
#   github.sh find BRANCH | open [NUMBER] | state NUMBER | log CHECK | say NUMBER WHAT [ID] | issues [open|all]
# FAIRWAY_FORGE_REMOTE is the address of the git remote. GH_HOST names the host of another installation.
# Exit code 0: done; 1: not done, and `why` on stdout; 2: unknown operation.
# shellcheck disable=SC2016 # What stands in quotes belongs to GraphQL and jq.
set -u
export GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1 GH_TELEMETRY=0 NO_COLOR=1 LC_ALL=C

# Text as the inside of a JSON string.
json_text() { printf '%s' "$1" | tr '\000-\037\177' ' ' | cut -c 1-2000 | sed 's/[\\"]/\\&/g'; }

# fail WHY TEXT [SECONDS]: the answer of what was not done.
fail() {
  text=$(json_text "$2")
  printf '{"why":"%s","message":"%s","seconds":%s}\n' "$1" "${text}" "${3:-null}"
  exit 1
}

case ${1:-} in find | open | state | log | say | issues) ;; *) exit 2 ;; esac
operation=$1
shift
for program in gh timeout awk mktemp; do
  command -v "${program}" >/dev/null 2>&1 ||
    fail missing "the program ${program} is missing; gh is in the package gh, and logs in with: gh auth login"
done

# The last two parts of the address: git@HOST:OWNER/NAME.git, https://HOST/OWNER/NAME, ssh://git@HOST/OWNER/NAME.git
address=${FAIRWAY_FORGE_REMOTE:-}
address=${address%/}
address=${address%.git}
name=${address##*/}
owner=${address%/*}
owner=${owner##*[:/]}
for part in "${owner}" "${name}"; do
  case ${part} in '' | . | .. | *[!A-Za-z0-9._-]*) fail refused "the address of the remote names no repository: ${address}" ;; *) ;; esac
done
repo="repos/${owner}/${name}"

work=$(mktemp -d) || fail refused "no temporary directory can be made"
trap 'rm -rf "${work}"' EXIT
trap 'exit 1' HUP INT TERM
case ${operation} in open | say) cat >"${work}/in" ;; *) ;; esac

number() { case ${1:-} in '' | *[!0-9]*) fail refused "$2 is no number: ${1:-}" ;; *) ;; esac }
header() { sed -n "s/^$1: *//Ip" "${work}/head" | sed -n 1p; }
# What the body of an error says.
reason() {
  said=$(grep -Eo '"(message|field|code)": *"([^"\\]|\\.)*"' "${work}/body" | cut -d: -f2- | tr -d '"' |
    awk '{ sub(/^ */, ""); printf "%s%s", (NR > 1 ? "; " : ""), $0 }')
  printf '%s' "${said:-$1}"
}

# api ARGS: one call. Body in ${work}/body; returns 0, or 1 with why, text and seconds. A body is read only after its status.
api() {
  timeout 20 gh api -i "$@" >"${work}/raw" 2>"${work}/err" </dev/null
  code=$?
  : >"${work}/head"
  : >"${work}/body"
  awk -v head="${work}/head" -v body="${work}/body" '
    done { print > body; next }
    { sub(/\r$/, "") }
    $0 == "" { done = 1; next }
    { print > head }' "${work}/raw"
  status=$(sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p' "${work}/head")
  err=$(tr '\n' ' ' <"${work}/err")
  left=$(header X-Ratelimit-Remaining)
  sso=$(header X-Github-Sso)
  seconds=
  text=$(reason "${err}")
  case ${code}:${status} in
    0:2*) return 0 ;;
    4:*) why=login text="gh is not logged in: gh auth login" ;;
    124:*) why=network text="no answer within 20 s" ;;
    *:)
      why=network text=${err:-no answer}
      case ${err} in *'unknown flag'* | *'unknown command'*) why=refused ;; *) ;; esac
      ;;
    *:401) why=login text="${text}; log in again: gh auth login" ;;
    *:403 | *:429 | *:2*)
      why=refused
      case ${status} in 403) why=rights ;; 429) why=busy ;; *) ;; esac
      grep -q '"FORBIDDEN"' "${work}/body" && why=rights
      grep -q '"NOT_FOUND"' "${work}/body" && why=missing
      case ${err} in *'unexpected EOF'*) why=network text="the answer was cut" ;; *) ;; esac
      grep -Eqi 'secondary rate limit|RATE_LIMITED' "${work}/body" && why=busy
      [ "${left}" = 0 ] && why=busy
      case ${sso} in required*) why=sso text="single sign-on: ${sso#*url=}" ;; *) ;; esac
      [ "${why}" = rights ] && text="${text}; the login must read and write contents and pull requests"
      [ "${why}" = busy ] && seconds=$(wait_seconds)
      ;;
    *:404 | *:410) why=missing text="${text}: it is not there, or this login may not see it" ;;
    *:5*) why=network text="status ${status}: ${text}" ;;
    *) why=refused ;;
  esac
  return 1
}

# How long the forge asks to wait.
wait_seconds() {
  after=$(header Retry-After)
  reset=$(header X-Ratelimit-Reset)
  now=$(date +%s)
  case ${after:-${reset:-60}} in *[!0-9]*) after=60 ;; *) ;; esac
  [ "${reset:-0}" -gt "${now}" ] && after=${after:-$((reset - now))}
  printf '%s' "${after:-60}"
}

stop() { fail "${why}" "${text}" "${seconds:-null}"; }
must() { api "$@" || stop; }

# cached MINUTES FILE ARGS: the body of a call that is made at most once in so many minutes.
cached() {
  minutes=$1
  file=${FAIRWAY_ADAPTER_STATE:-${work}}/github-$2
  shift 2
  fresh=$(find "${file}" -mmin "-${minutes}" 2>/dev/null)
  if [ -z "${fresh}" ]; then
    api "$@" || return 1
    cp "${work}/body" "${file}.new" && mv "${file}.new" "${file}" || return 1
  fi
  tr -d '\n' <"${file}"
}

pull='{number, url: .html_url, state: (if .merged_at then "merged" else .state end), draft, head: .head.sha, base: .base.ref}'

find_of() {
  BRANCH=${1:-}
  [ -n "${BRANCH}" ] || fail refused "find needs a branch"
  export BRANCH
  must --method GET "${repo}/pulls" -f "head=${owner}:${BRANCH}" -f state=all -f per_page=50 \
    -q "[.[] | select(.head.ref == env.BRANCH and .head.repo.full_name == .base.repo.full_name)]
      | (map(select(.state == \"open\")) + .)[0] | if . then ${pull} else null end"
  cat "${work}/body"
}

open_of() {
  verb=POST
  [ -n "${1:-}" ] && number "$1" "the pull request" && verb=PATCH
  must --method "${verb}" "${repo}/pulls${1:+/$1}" --input "${work}/in" -q "${pull}"
  cat "${work}/body"
}

# query CHECKS VARIABLE: each list goes on after the cursor of its variable.
query() {
  cat <<GRAPHQL
query(\$o:String!,\$r:String!,\$n:Int!,$2\$v:String,\$t:String,\$m:String){repository(owner:\$o,name:\$r){pullRequest(number:\$n){
 number url state isDraft headRefOid baseRefName mergeable mergeCommit{oid}
 baseRef{refUpdateRule{requiredStatusCheckContexts}}
 commits(last:1){nodes{commit{oid $1}}}
 reviews(first:100,after:\$v){pageInfo{hasNextPage endCursor} nodes{databaseId state author{__typename login} body commit{oid}}}
 reviewThreads(first:100,after:\$t){pageInfo{hasNextPage endCursor} nodes{id isResolved path originalLine diffSide resolvedBy{login}
  comments(first:100){nodes{databaseId author{__typename login} body lastEditedAt isMinimized originalCommit{oid}}}}}
 comments(first:100,after:\$m){pageInfo{hasNextPage endCursor}
  nodes{databaseId author{__typename login} body lastEditedAt isMinimized}}}}}
GRAPHQL
}

checks='statusCheckRollup{contexts(first:100,after:$c){pageInfo{hasNextPage endCursor} nodes{__typename
  ...on CheckRun{databaseId name status conclusion detailsUrl isRequired(pullRequestNumber:$n)}
  ...on StatusContext{context state targetUrl isRequired(pullRequestNumber:$n)}}}}'

# Lines that begin with what they are: the answer without its lists, an element of a list, a cursor, a person who wrote.
state='def who: .author | ((.login // "") | rtrimstr("[bot]")) + (if .__typename == "Bot" then "[bot]" else "" end);
def written: {id: "\(.databaseId)", author: who, body, edited: .lastEditedAt, hidden: .isMinimized};
def each($name; f): .nodes[]? | "\($name) \(f | tojson)";
def cursor($name): .pageInfo | select(. != null) | (select(.endCursor) | "\($name) \(.endCursor)"), (select(.hasNextPage) | "more \($name)");
.data.repository.pullRequest | (.commits.nodes[0].commit) as $commit
| ($commit.statusCheckRollup.contexts // {}) as $contexts
| "state \({number, url, state: (.state | ascii_downcase), draft: .isDraft, head: .headRefOid, base: .baseRefName,
   mergeable: (if .mergeable == "MERGEABLE" then true elif .mergeable == "CONFLICTING" then false else null end),
   merged_commit: (if .state == "MERGED" then .mergeCommit.oid else null end),
   required: (.baseRef.refUpdateRule.requiredStatusCheckContexts // [])} | tojson)",
  "base \(.baseRefName)",
  (if $commit | has("statusCheckRollup") then empty else "more c" end),
  ($contexts | cursor("c"), each("check"; if .__typename == "CheckRun"
     then {id: "\(.databaseId)", name, required: .isRequired, url: .detailsUrl, state:
      (if .status != "COMPLETED" then "pending" elif .conclusion == "CANCELLED" then "cancelled"
       elif ([.conclusion] | inside(["SUCCESS", "NEUTRAL", "SKIPPED"])) then "passed"
       elif .conclusion == "STALE" then "pending" else "failed" end)}
     else {id: null, name: .context, required: .isRequired, url: .targetUrl, state:
      (if .state == "SUCCESS" then "passed" elif .state == "PENDING" or .state == "EXPECTED" then "pending" else "failed" end)}
     end)),
  (.reviews | cursor("v"), (.nodes |= map(select(.state != "PENDING")) | each("review";
    {id: "\(.databaseId)", author: who, verdict: (.state | ascii_downcase), commit: .commit.oid, body}))),
  (.reviewThreads | cursor("t"), each("thread"; {id, file: .path, line: .originalLine, side:
     (if .diffSide == "LEFT" then "old" else "new" end), commit: .comments.nodes[0].originalCommit.oid, resolved: .isResolved,
     resolved_by: .resolvedBy.login, comments: [.comments.nodes[] | written]})),
  (.comments | cursor("m"), each("comment"; written)),
  (.reviews.nodes[], .reviewThreads.nodes[].comments.nodes[], .comments.nodes[] | who | select(. != "") | "who \(.)")'

# lines WORD: what stands behind it in the last page; listed WORD: in all pages, as the inside of a list.
lines() { sed -n "s/^$1 //p" "${work}/body"; }
listed() { sed -n "s/^$1 //p" "${work}/pages" | paste -sd, -; }

# page NUMBER: the next page of all lists.
page() {
  api graphql -F "query=@${work}/query" -f "o=${owner}" -f "r=${name}" -F "n=$1" -q "${state}" ${c:+-f} ${c:+"c=${c}"} \
    ${v:+-f} ${v:+"v=${v}"} ${t:+-f} ${t:+"t=${t}"} ${m:+-f} ${m:+"m=${m}"} || return 1
  cat "${work}/body" >>"${work}/pages"
  for list in c v t m; do
    cursor=$(lines "${list}")
    [ -z "${cursor}" ] || eval "${list}=\${cursor}"
  done
}

state_of() {
  number "${1:-}" "the pull request"
  : >"${work}/pages"
  c='' v='' t='' m=''
  query "${checks}" '$c:String,' >"${work}/query"
  if ! page "$1"; then
    # A token without the right to see checks: everything else is still told.
    grep -q statusCheckRollup "${work}/body" || stop
    query '' '' >"${work}/query"
    page "$1" || stop
  fi
  # The first 1,000 of each list.
  pages=1
  while lines more | grep -q '[vtm]' || { [ -n "${c}" ] && lines more | grep -q c; }; do
    [ "${pages}" -lt 10 ] || break
    pages=$((pages + 1))
    page "$1" || stop
  done
  line=$(lines state)
  base=$(lines base)
  known="[$(listed check)]"
  # Of checks that are not all seen, none is known.
  lines more | grep -q c && known=null
  key=$(printf '%s' "${owner}-${name}-${base}" | tr -c 'A-Za-z0-9._\n-' -)
  # A base of an odd name has no rules of its own.
  case ${base} in *[!A-Za-z0-9._/-]*) base=- ;; *) ;; esac
  rules=$(cached 60 "rules-${key}" --method GET "${repo}/rules/branches/${base}" \
    -q '[.[] | select(.type == "required_status_checks") | .parameters.required_status_checks[].context]') || rules='[]'
  people=
  sed -n 's/^who //p' "${work}/pages" | sort -u >"${work}/people"
  while read -r login; do
    case ${login} in '' | *[!A-Za-z0-9_-]*) continue ;; *) ;; esac
    right=$(cached 1440 "right-${owner}-${name}-${login}" --method GET "${repo}/collaborators/${login}/permission" \
      -q '.permission == "admin" or .permission == "write" or .permission == "maintain"') || right=null
    people="${people},\"${login}\":${right}"
  done <"${work}/people"
  printf '%s,"checks":%s' "${line%?}" "${known}"
  for list in review thread comment; do
    listed "${list}" | sed "s/^/,\"${list}s\":[/; s/\$/]/"
  done
  printf ',"rules":%s,"people":{%s}}\n' "${rules}" "${people#,}"
}

log_of() {
  number "${1:-}" "the check"
  colour=
  gh api --help | grep -q allow-escape-sequences && colour=--allow-escape-sequences
  # Of another program than the forge's own, there is what it says of itself.
  api ${colour:+"${colour}"} "${repo}/actions/jobs/$1/logs" || {
    [ "${why}" = missing ] || stop
    must "${repo}/check-runs/$1" -q '.output | "\(.title // "")\n\(.summary // "")"'
  }
  printf '{"log":"'
  tail -n 60 "${work}/body" | tr -d '\000-\010\013-\037\177' | tail -c 20000 | tr '\t' ' ' |
    sed 's/^\xef\xbb\xbf//; s/^[0-9T:.-]*Z //; s/\[[0-9;]*m//g; s/[\\"]/\\&/g' | awk '{ printf "%s\\n", $0 }'
  printf '"}\n'
}

# say NUMBER comment | reply COMMENT | resolve THREAD | review | merge | ready | draft
say_of() {
  number "${1:-}" "the pull request"
  case ${2:-} in
    comment) must --method POST "${repo}/issues/$1/comments" --input "${work}/in" -q .id ;;
    reply)
      number "${3:-}" "the comment"
      must --method POST "${repo}/pulls/$1/comments/$3/replies" --input "${work}/in" -q .id
      ;;
    review) must --method POST "${repo}/pulls/$1/reviews" --input "${work}/in" -q .id ;;
    merge) must --method PUT "${repo}/pulls/$1/merge" --input "${work}/in" -q .merged ;;
    resolve)
      [ -n "${3:-}" ] || fail refused "resolve needs a thread"
      must graphql -f "query=mutation(\$t:ID!){resolveReviewThread(input:{threadId:\$t}){thread{isResolved}}}" -f "t=$3"
      ;;
    ready | draft)
      must --method GET "${repo}/pulls/$1" -q .node_id
      node=$(cat "${work}/body")
      verb=markPullRequestReadyForReview
      [ "$2" = draft ] && verb=convertPullRequestToDraft
      must graphql -f "query=mutation(\$p:ID!){${verb}(input:{pullRequestId:\$p}){pullRequest{isDraft}}}" -f "p=${node}"
      ;;
    *) fail refused "say cannot ${2:-nothing}" ;;
  esac
  printf '{"done":true}\n'
}

# The newest issues, without pull requests, which the forge lists among them.
issues_of() {
  case ${1:-open} in open | all) ;; *) fail refused "issues are open or all: $1" ;; esac
  : >"${work}/issues"
  page=0
  more=true
  while [ "${more}" = true ] && [ "${page}" -lt 10 ]; do
    page=$((page + 1))
    must --method GET "${repo}/issues" -f "state=${1:-open}" -f per_page=100 -f "page=${page}" \
      -q 'length, (.[] | select(.pull_request | not) | {number, title, body, labels: [.labels[].name], url: .html_url, state,
        stateReason: .state_reason, createdAt: .created_at, updatedAt: .updated_at, closedAt: .closed_at})'
    sed 1d "${work}/body" >>"${work}/issues"
    count=$(sed -n 1p "${work}/body")
    [ "${count}" = 100 ] || more=false
  done
  all=$(paste -sd, "${work}/issues")
  printf '{"more":%s,"issues":[%s]}\n' "${more}" "${all}"
}

"${operation}_of" "$@"
