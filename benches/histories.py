#!/usr/bin/env python3
"""What `fairway overlap` says of work that really was done at once, against git's own merge of it. Prints the table in
BENCHMARKS.md: `benches/histories.py fairway REPOSITORY SOURCE.dsc ...`.

A repository with merge commits: the branches that were open at one commit of its first parents, each as one commit on it. The source
package of a distribution: its patches, those that apply alone to what its authors released, each as one commit on that. Every other
lane is left uncommitted. All pairs of a group are asked for; a group has at most so many lanes as FAIRWAY_LANES says (40).
"""

import itertools, json, os, pathlib, shutil, subprocess, sys, tempfile

LANES = int(os.environ.get("FAIRWAY_LANES", "40"))
ENVIRONMENT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}


def run(words, directory, fails=False, data=None, variables=None):
    done = subprocess.run(words, cwd=directory, env={**ENVIRONMENT, **(variables or {})}, input=data, capture_output=True)
    if done.returncode and not fails:
        sys.exit(f"{words}: {done.stderr.decode(errors='replace')}")
    return done.returncode, done.stdout.decode(errors="replace")


def git(directory, *words, **more):
    return run(["git", *words], directory, **more)[1].strip()


def new_repository(directory):
    git(directory, "init", "--quiet", "--initial-branch=main")
    for key, value in [("user.name", "Ann"), ("user.email", "ann@example.com"), ("core.autocrlf", "false")]:
        git(directory, "config", key, value)


def branches(repository):
    """Groups of a base and the commits of what was open there, the oldest first."""
    merges = git(repository, "rev-list", "--first-parent", "--merges", "--min-parents=2", "--max-parents=2", "--parents", "HEAD")
    group, base = [], None
    for line in reversed(merges.splitlines()):
        _, before, tip = line.split()
        fork = git(repository, "merge-base", before, tip)
        is_open = base and run(["git", "merge-base", "--is-ancestor", fork, base], repository, fails=True)[0] == 0
        if base and (not is_open or len(group) == LANES):
            yield base, group
            group, base = [], None
        base = base or before
        # As one commit on the base of the group, if it merges there.
        code, tree = run(["git", "merge-tree", "--write-tree", base, tip], repository, fails=True)
        if code == 0 and git(repository, "rev-parse", f"{base}^{{tree}}") != tree.strip():
            group.append(git(repository, "commit-tree", "-m", "work", "-p", base, tree.strip()))
    if base:
        yield base, group


def patches(repository, source):
    """The group of a source package's patches that apply alone."""
    unpacked = repository.parent / "source"
    run(["dpkg-source", "--no-check", "--skip-patches", "-x", str(source), str(unpacked)], repository.parent)
    series = unpacked / "debian/patches/series"
    names = [line.split()[0] for line in series.read_text().splitlines() if line.strip() and not line.startswith("#")]
    shutil.copytree(unpacked, repository, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(".git*", "debian"))
    new_repository(repository)
    git(repository, "add", "--all", "--force")
    git(repository, "commit", "--quiet", "--message=release")
    base, group = git(repository, "rev-parse", "HEAD"), []
    index = {"GIT_INDEX_FILE": str(repository.parent / "index")}
    for name in names:
        patch = (unpacked / "debian/patches" / name).read_bytes()
        git(repository, "read-tree", base, variables=index)
        if run(["git", "apply", "--cached"], repository, fails=True, data=patch, variables=index)[0] == 0:
            tree = git(repository, "write-tree", variables=index)
            group.append(git(repository, "commit-tree", "-m", "work", "-p", base, tree))
    yield base, group[:LANES]


def judge(fairway, repository, base, group, figures):
    """Puts each commit into a lane of its own, and compares what is told of each pair with git's merge of the two."""
    with tempfile.TemporaryDirectory(prefix="fairway-histories") as home:
        project = pathlib.Path(home) / "project"
        git(home, "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(project))
        for commit in group:
            git(project, "update-ref", f"refs/lanes/{commit}", commit)
        git(project, "checkout", "--quiet", "-B", "main", base)
        variables = {"HOME": home}
        call = lambda *words: run([fairway, *words], project, variables=variables)[1]
        call("init", "--quiet")
        for number, commit in enumerate(group):
            call("lane", "add", f"l{number:03}", "--create-worktree", "--quiet")
            worktree = project / f".fairway/worktrees/l{number:03}"
            git(worktree, "reset", "--quiet", "--hard", commit)
            if number % 2:
                git(worktree, "reset", "--quiet", base)
        found = json.loads(call("overlap", "--json"))
        told = {}
        for one in found["overlaps"]:
            pair = frozenset(lane and int(lane[1:]) for lane in (one["lane"], one["other_lane"]))
            told[pair] = (one["level"], all(file["in_list"] for file in one["files"]))
        figures["problems"] += bool(found["problem"])
    names = [set(git(repository, "diff", "--name-only", "--no-renames", base, commit).splitlines()) for commit in group]
    figures["lanes"] += len(group)
    for one, other in itertools.combinations(range(len(group)), 2):
        merge = ["git", "merge-tree", "--write-tree", "--name-only", group[one], group[other]]
        conflicts = run(merge, repository, fails=True)[0] == 1
        level, in_list = told.get(frozenset((one, other)), ("none", False))
        figures["pairs"] += 1
        figures["named"] += bool(names[one] & names[other])
        figures["conflicts"] += conflicts
        figures["told"] += conflicts and level == "conflict"
        figures["false"] += level == "conflict" and not conflicts
        figures["merge"] += not conflicts
        figures["adjacent"] += level == "adjacent" and not in_list
        figures["shown"] += level == "adjacent" and in_list


def main():
    fairway = str(pathlib.Path(sys.argv[1]).resolve())
    print("| history (files) | lanes | pairs | share a file | conflicts by git | told | false | `adjacent` sent | shown only |")
    print("|---|---|---|---|---|---|---|---|---|")
    for place in map(pathlib.Path, sys.argv[2:]):
        figures = dict.fromkeys("problems lanes pairs named conflicts told false merge adjacent shown".split(), 0)
        with tempfile.TemporaryDirectory(prefix="fairway-histories") as directory:
            repository = pathlib.Path(directory) / "repository"
            repository.mkdir()
            if place.suffix == ".dsc":
                groups = patches(repository, place.resolve())
            else:
                git(directory, "clone", "--quiet", "--bare", "--shared", str(place.resolve()), str(repository))
                for key, value in [("user.name", "Ann"), ("user.email", "ann@example.com")]:
                    git(repository, "config", key, value)
                groups = branches(repository)
            files = 0
            for base, group in groups:
                files = len(git(repository, "ls-tree", "-r", "--name-only", base).splitlines())
                if len(group) > 1:
                    judge(fairway, repository, base, group, figures)
        name, f = place.resolve().stem.split("_")[0], figures
        print(f"| {name} ({files:,}) | {f['lanes']} | {f['pairs']:,} | {f['named']} | {f['conflicts']} | {f['told']} "
              f"| {f['false']} | {f['adjacent']} of {f['merge']:,} | {f['shown']} |", flush=True)
        if f["problems"]:
            print(f"{name}: {f['problems']} groups were not judged whole", file=sys.stderr)


if __name__ == "__main__":
    main()
