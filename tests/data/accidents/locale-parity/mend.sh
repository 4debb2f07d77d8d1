# With both sides in the checkout: what a language lacks comes from English.
set -eu
python3 - <<'END'
import json, pathlib
english = json.loads(pathlib.Path("locales/en.json").read_text())
for file in pathlib.Path("locales").glob("*.json"):
    texts = json.loads(file.read_text())
    if set(texts) != set(english):
        file.write_text(json.dumps({key: texts.get(key, text) for key, text in english.items()}, indent=2) + "\n")
END
git commit -q -am 'Fill in what is missing'
