# With both sides in the checkout: the new file obeys the new rule.
set -eu
sed -i 's/^    print("saving", path)$/    log(f"saving {path}")/; 1s/^/from log import log\n\n\n/' src/save.py
git commit -q -am 'save: log instead of print'
