# resolve.sh BASE, in the checkout of the branch that came second: merges BASE; where the text conflicts, the packages of both stay.
set -eu
git merge -q --no-edit "$1" && exit
python3 - "$1" <<'END'
import json, subprocess, sys
show = lambda rev, file: subprocess.run(["git", "show", f"{rev}:{file}"], capture_output=True, text=True, check=True).stdout
lock = {**json.loads(show(sys.argv[1], "lock.json")), **json.loads(show("HEAD", "lock.json"))}
open("lock.json", "w").write(json.dumps(lock, indent=2) + "\n")
need = sorted(set(show(sys.argv[1], "need.txt").splitlines()) | set(show("HEAD", "need.txt").splitlines()))
open("need.txt", "w").write("\n".join(need) + "\n")
END
git add -A
git commit -q -m 'Merge, with the packages of both'
