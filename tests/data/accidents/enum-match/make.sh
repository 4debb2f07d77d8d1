# make.sh DIR: a git repository in DIR with main and the branches of this accident.
set -eu
mkdir -p "$1"
cd "$1"
git init -q .
git symbolic-ref HEAD refs/heads/main
git config user.name dev
git config user.email dev@example.invalid
git config commit.gpgsign false
commit() { git add -A && git commit -q -m "$1"; }
branch() { git checkout -q -b "$1" main; }

cat >events.py <<'END'
import enum


class Event(enum.Enum):
    STARTED = "started"
    STOPPED = "stopped"
    FAILED = "failed"
END
cat >report.py <<'END'
from events import Event


def label(event):
    if event is Event.STARTED:
        return "begins"
    if event is Event.STOPPED:
        return "ends"
    if event is Event.FAILED:
        return "breaks"
    raise AssertionError(f"label has no case for {event}")
END
cat >test_report.py <<'END'
import unittest
from events import Event
from report import label


class Report(unittest.TestCase):
    def test_each_event_has_a_label(self):
        for event in Event:
            self.assertTrue(label(event))
END
commit 'Events and their labels'

branch a
python3 - <<'END'
import pathlib
p = pathlib.Path("events.py"); p.write_text(p.read_text() + '    DELIVERED = "delivered"\n')
p = pathlib.Path("report.py"); p.write_text(p.read_text().replace("    raise", "    if event is Event.DELIVERED:\n        return \"arrives\"\n    raise"))
END
commit 'A delivered report is an event'

branch b
cat >retention.py <<'END'
from events import Event


def days(event):
    if event is Event.FAILED:
        return 90
    if event in (Event.STARTED, Event.STOPPED):
        return 7
    raise AssertionError(f"days has no case for {event}")
END
commit 'How long each event is kept'
cat >test_retention.py <<'END'
import unittest
from events import Event
from retention import days


class Retention(unittest.TestCase):
    def test_each_event_is_kept_for_a_time(self):
        for event in Event:
            self.assertGreater(days(event), 0)
END
commit 'Test it for each event'

git checkout -q main
