#!/usr/bin/env python3
"""A small forge that speaks the forge script protocol, for examples and tests. The remote must be a bare repository on
this machine; the pull requests are in forge.json inside it. Three more operations do what people do on a forge:
merge NUMBER [squash|rebase], close NUMBER, set NUMBER JSON (such as '{"checks": [...]}')."""
import json, os, subprocess, sys

remote = os.environ["FAIRWAY_FORGE_REMOTE"]
operation, args = (sys.argv + [""])[1], sys.argv[2:]


def fail(why, message):
    print(json.dumps({"why": why, "message": message, "seconds": None}))
    sys.exit(1)


def git(*words):
    done = subprocess.run(["git", "-C", remote, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


if operation not in ("find", "open", "state", "log", "say", "merge", "close", "set"):
    sys.exit(2)
if git("rev-parse", "--is-bare-repository") != "true":
    fail("missing", "the remote is no bare repository on this machine")
if operation == "say" and args[1:2] == ["merge"]:
    operation, args = "merge", [args[0], json.loads(sys.stdin.read())["merge_method"]]
store = os.path.join(remote, "forge.json")
pulls = json.load(open(store)) if os.path.exists(store) else []
if operation == "find":
    if not args:
        fail("refused", "find needs a branch")
    of = [one for one in pulls if one["branch"] == args[0]]
    pull = next((one for one in of if one["state"] == "open"), of[-1] if of else None)
elif operation == "open" and not args:
    asked = json.loads(sys.stdin.read() or "{}")
    if git("rev-parse", "--verify", "--quiet", f"refs/heads/{asked.get('head')}") is None:
        fail("refused", "the branch is not there")
    pull = {"number": len(pulls) + 1, "state": "open", "draft": asked.get("draft", False), "said": []}
    pull.update(branch=asked["head"], base=asked["base"], title=asked["title"], body=asked["body"])
    pull["url"] = f"https://forge.example/pulls/{pull['number']}"
    pulls.append(pull)
elif operation == "log":
    fail("missing", "this forge keeps no logs")
else:
    pull = next((one for one in pulls if args and str(one["number"]) == args[0]), None)
    if pull is None:
        fail("missing", "there is no such pull request")
    if operation == "open":
        pull.update({name: value for name, value in json.loads(sys.stdin.read()).items() if name != "head"})
    elif operation == "say":
        if args[1:2] not in (["comment"], ["reply"], ["resolve"], ["review"], ["ready"]):
            fail("refused", "this forge knows comment, reply, resolve, review and ready")
        said = sys.stdin.read()
        if pull.get("own") and '"event":"COMMENT"' not in said and args[1] == "review":
            fail("refused", "Can not approve your own pull request")
        pull["said"].append([args[1:], said])
        if args[1] == "review":
            given = {"id": str(len(pull["said"])), "author": "me", "verdict": "commented", "body": "", **json.loads(said)}
            pull.setdefault("reviews", []).append({"commit": given.get("commit_id"), **given})
        pull["draft"] = pull["draft"] and args[1] != "ready"
        for thread in pull.get("threads", []):
            thread["resolved"] = thread["resolved"] or args[1:] == ["resolve", thread["id"]]
    elif operation == "merge":
        old, head = (git("rev-parse", f"refs/heads/{one}") for one in (pull["base"], pull["branch"]))
        if pull.get("rule"):
            fail("refused", pull["rule"])
        name, onto = ["-c", "user.name=Forge", "-c", "user.email=forge@example.com"], old
        for commit in git("rev-list", "--reverse", f"{old}..{head}").split() if args[1:] == ["rebase"] else [head]:
            tree = git("merge-tree", "--write-tree", onto, commit) or fail("refused", "it conflicts")
            parents = ["-p", onto] if args[1:] in (["squash"], ["rebase"]) else ["-p", onto, "-p", head]
            onto = git(*name, "commit-tree", tree, *parents, "-m", pull["title"])
        pull["merged_commit"] = onto
        git("update-ref", f"refs/heads/{pull['base']}", pull["merged_commit"], old)
        pull["state"] = "merged"
    elif operation == "close":
        pull["state"] = "closed"
    elif operation == "set":
        pull.update(json.loads(args[1]))
if pull and pull["state"] != "merged":
    pull["head"] = git("rev-parse", "--verify", "--quiet", f"refs/heads/{pull['branch']}") or pull.get("head")
json.dump(pulls, open(store, "w"))
more = {"mergeable": True, "merged_commit": None, "checks": [], "people": {}}
print(json.dumps({"done": True} if operation == "say" else {**more, **pull} if pull else None))
