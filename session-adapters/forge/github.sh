#!/bin/sh
# A forge script for GitHub, with `gh api` alone (gh 2.23 or newer, logged in). Speaks the forge script protocol:
#   github.sh find BRANCH | open [NUMBER] | state NUMBER | log CHECK | say NUMBER WHAT [ID]
# FAIRWAY_FORGE_REMOTE is the address of the git remote. GH_HOST names the host of another installation.
# Exit code 0: done; 1: not done, and `why` on stdout; 2: unknown operation.
set -u
export GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1 GH_TELEMETRY=0 NO_COLOR=1 LC_ALL=C

# Text as the inside of a JSON string.
json_text() {
  printf '%s' "$1" | tr '\000-\037\177' ' ' | cut -c 1-2000 | sed 's/[\\"]/\\&/g'
}

# fail WHY TEXT [SECONDS]: the answer of what was not done.
fail() {
  text=$(json_text "$2")
  printf '{"why":"%s","message":"%s","seconds":%s}\n' "$1" "${text}" "${3:-null}"
  exit 1
}

case ${1:-} in
  find | open | state | log | say) ;;
  *) exit 2 ;;
esac
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
  case ${part} in
    '' | . | .. | *[!A-Za-z0-9._-]*) fail refused "the address of the remote names no repository: ${FAIRWAY_FORGE_REMOTE:-}" ;;
    *) ;;
  esac
done
repo="repos/${owner}/${name}"

work=$(mktemp -d) || fail refused "no temporary directory can be made"
trap 'rm -rf "${work}"' EXIT
trap 'exit 1' HUP INT TERM
case ${operation} in
  open | say) cat >"${work}/in" ;;
  *) ;;
esac

number() {
  case ${1:-} in
    '' | *[!0-9]*) fail refused "$2 is no number: ${1:-}" ;;
    *) ;;
  esac
}

header() {
  sed -n "s/^$1: *//Ip" "${work}/head" | sed -n 1p
}

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
    4:*) why=login text="gh is not logged in" ;;
    124:*) why=network text="no answer within 20 s" ;;
    *:)
      why=network text=${err:-no answer}
      case ${err} in *'unknown flag'* | *'unknown command'*) why=refused ;; *) ;; esac
      ;;
    *:401) why=login ;;
    *:403 | *:429 | *:2*)
      why=refused
      case ${status} in 403) why=rights ;; 429) why=busy ;; *) ;; esac
      grep -q '"FORBIDDEN"' "${work}/body" && why=rights
      grep -q '"NOT_FOUND"' "${work}/body" && why=missing
      case ${err} in *'unexpected EOF'*) why=network text="the answer was cut" ;; *) ;; esac
      grep -Eqi 'secondary rate limit|RATE_LIMITED' "${work}/body" && why=busy
      [ "${left}" = 0 ] && why=busy
      case ${sso} in
        required*) why=sso text="single sign-on: ${sso#*url=}" ;;
        *) ;;
      esac
      [ "${why}" = busy ] && seconds=$(wait_seconds)
      ;;
    *:404 | *:410) why=missing ;;
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
  case ${after:-x}${reset:-x} in
    x*[0-9]) [ "${reset#x}" -gt "${now}" ] && printf '%s' "$((${reset#x} - now))" && return ;;
    [0-9]*) printf '%s' "${after}" && return ;;
    *) ;;
  esac
  printf 60
}

must() {
  api "$@" || fail "${why}" "${text}" "${seconds:-null}"
}

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

find_pull() {
  BRANCH=${1:-}
  [ -n "${BRANCH}" ] || fail refused "find needs a branch"
  export BRANCH
  must --method GET "${repo}/pulls" -f "head=${owner}:${BRANCH}" -f state=all -f per_page=50 \
    -q "[.[] | select(.head.ref == env.BRANCH and .head.repo.full_name == .base.repo.full_name)]
      | (map(select(.state == \"open\")) + .)[0] | if . then ${pull} else null end"
  cat "${work}/body"
}

open_pull() {
  if [ -n "${1:-}" ]; then
    number "$1" "the pull request"
    must --method PATCH "${repo}/pulls/$1" --input "${work}/in" -q "${pull}"
  else
    must --method POST "${repo}/pulls" --input "${work}/in" -q "${pull}"
  fi
  cat "${work}/body"
}

query() {
  cat <<GRAPHQL
query(\$o:String!,\$r:String!,\$n:Int!){repository(owner:\$o,name:\$r){pullRequest(number:\$n){
 number url state isDraft headRefOid baseRefName mergeable mergeCommit{oid}
 baseRef{refUpdateRule{requiredStatusCheckContexts}}
 commits(last:1){nodes{commit{oid $1}}}
 reviews(first:100){nodes{databaseId state author{__typename login} body commit{oid}}}
 reviewThreads(first:100){nodes{id isResolved path originalLine diffSide resolvedBy{login}
  comments(first:50){nodes{databaseId author{__typename login} authorAssociation body lastEditedAt isMinimized originalCommit{oid}}}}}
 comments(first:100){nodes{databaseId author{__typename login} authorAssociation body lastEditedAt isMinimized}}}}}
GRAPHQL
}

# shellcheck disable=SC2016 # The variable is that of GraphQL.
checks='statusCheckRollup{contexts(first:100){pageInfo{hasNextPage} nodes{__typename
  ...on CheckRun{databaseId name status conclusion detailsUrl isRequired(pullRequestNumber:$n)}
  ...on StatusContext{context state targetUrl isRequired(pullRequestNumber:$n)}}}}'

# The first line is the answer, the second the base, the others the people who wrote.
# shellcheck disable=SC2016 # The variables are those of jq.
state='def who: .author | ((.login // "") | rtrimstr("[bot]")) + (if .__typename == "Bot" then "[bot]" else "" end);
def written: {id: "\(.databaseId)", author: who, association: .authorAssociation, body, edited: .lastEditedAt, hidden: .isMinimized};
.data.repository.pullRequest | (.commits.nodes[0].commit) as $commit
| ($commit.statusCheckRollup.contexts) as $contexts
| {number, url, state: (.state | ascii_downcase), draft: .isDraft, head: .headRefOid, base: .baseRefName,
   mergeable: (if .mergeable == "MERGEABLE" then true elif .mergeable == "CONFLICTING" then false else null end),
   merged_commit: (if .state == "MERGED" then .mergeCommit.oid else null end),
   checks: (if ($commit | has("statusCheckRollup") | not) or $contexts.pageInfo.hasNextPage then null else
    [$contexts.nodes[]? | if .__typename == "CheckRun"
     then {id: "\(.databaseId)", name, required: .isRequired, url: .detailsUrl, state:
      (if .status != "COMPLETED" then "pending" elif .conclusion == "CANCELLED" then "cancelled"
       elif ([.conclusion] | inside(["SUCCESS", "NEUTRAL", "SKIPPED"])) then "passed"
       elif .conclusion == "STALE" then "pending" else "failed" end)}
     else {id: null, name: .context, required: .isRequired, url: .targetUrl, state:
      (if .state == "SUCCESS" then "passed" elif .state == "PENDING" or .state == "EXPECTED" then "pending" else "failed" end)}
     end] end),
   reviews: [.reviews.nodes[] | select(.state != "PENDING")
    | {id: "\(.databaseId)", author: who, verdict: (.state | ascii_downcase), commit: .commit.oid, body}],
   threads: [.reviewThreads.nodes[] | {id, file: .path, line: .originalLine, side:
     (if .diffSide == "LEFT" then "old" else "new" end), commit: .comments.nodes[0].originalCommit.oid, resolved: .isResolved, resolved_by: .resolvedBy.login,
     comments: [.comments.nodes[] | written]}],
   comments: [.comments.nodes[] | written],
   required: (.baseRef.refUpdateRule.requiredStatusCheckContexts // [])},
  .baseRefName,
  ([.reviews.nodes[], .reviewThreads.nodes[].comments.nodes[], .comments.nodes[] | who | select(. != "")] | unique[])'

state_of() {
  number "${1:-}" "the pull request"
  query "${checks}" >"${work}/query"
  if ! api graphql -F "query=@${work}/query" -f "o=${owner}" -f "r=${name}" -F "n=$1" -q "${state}"; then
    # A token without the right to see checks: everything else is still told.
    grep -q statusCheckRollup "${work}/body" || fail "${why}" "${text}" "${seconds:-null}"
    query '' >"${work}/query"
    must graphql -F "query=@${work}/query" -f "o=${owner}" -f "r=${name}" -F "n=$1" -q "${state}"
  fi
  cp "${work}/body" "${work}/state"
  base=$(sed -n 2p "${work}/state")
  rules='[]'
  case ${base} in
    *[!A-Za-z0-9._/-]*) ;;
    *)
      key=$(printf '%s' "${owner}-${name}-${base}" | tr / -)
      rules=$(cached 60 "rules-${key}" --method GET "${repo}/rules/branches/${base}" \
        -q '[.[] | select(.type == "required_status_checks") | .parameters.required_status_checks[].context]') || rules='[]'
      ;;
  esac
  people=
  sed 1,2d "${work}/state" >"${work}/people"
  while read -r login; do
    case ${login} in '' | *[!A-Za-z0-9_-]*) continue ;; *) ;; esac
    right=$(cached 1440 "right-${owner}-${name}-${login}" --method GET "${repo}/collaborators/${login}/permission" \
      -q 'if .permission == "admin" or .permission == "write" or .permission == "maintain" then true else false end') || right=null
    people="${people},\"${login}\":${right}"
  done <"${work}/people"
  line=$(sed -n 1p "${work}/state")
  printf '%s,"rules":%s,"people":{%s}}\n' "${line%?}" "${rules}" "${people#,}"
}

log_of() {
  number "${1:-}" "the check"
  colour=
  gh api --help | grep -q allow-escape-sequences && colour=--allow-escape-sequences
  if api ${colour:+"${colour}"} "${repo}/actions/jobs/$1/logs"; then
    tail -n 60 "${work}/body" >"${work}/tail"
  elif [ "${why}" = missing ]; then
    must "${repo}/check-runs/$1" -q '.output | "\(.title // "")\n\(.summary // "")"'
    tail -n 60 "${work}/body" >"${work}/tail"
  else
    fail "${why}" "${text}" "${seconds:-null}"
  fi
  printf '{"log":"'
  tr -d '\000-\010\013-\037\177' <"${work}/tail" | tail -c 20000 | tr '\t' ' ' |
    sed 's/^\xef\xbb\xbf//; s/^[0-9T:.-]*Z //; s/\[[0-9;]*m//g; s/[\\"]/\\&/g' | awk '{ printf "%s\\n", $0 }'
  printf '"}\n'
}

# say NUMBER comment | reply COMMENT | resolve THREAD | review | ready | draft
say() {
  number "${1:-}" "the pull request"
  case ${2:-} in
    comment) must --method POST "${repo}/issues/$1/comments" --input "${work}/in" -q .id ;;
    reply)
      number "${3:-}" "the comment"
      must --method POST "${repo}/pulls/$1/comments/$3/replies" --input "${work}/in" -q .id
      ;;
    review) must --method POST "${repo}/pulls/$1/reviews" --input "${work}/in" -q .id ;;
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

case ${operation} in
  find) find_pull "$@" ;;
  open) open_pull "$@" ;;
  state) state_of "$@" ;;
  log) log_of "$@" ;;
  *) say "$@" ;;
esac
