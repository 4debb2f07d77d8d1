#!/usr/bin/env python3
"""Follows the event stream of a Codex app-server and tells Fairway how its threads stand.

usage: codex-app-server.py --role ROLE [--task-id T] [--lane L] [--backend B] [--transcript F]
                           [--complete [--handoff-to ROLE]] [--script provider-event.sh] [FILE]

Reads JSON lines from FILE or stdin: what the server writes, one message a line. A recording that also holds what the
client wrote marks the lines with "< " and "> "; the latter are passed over. Every thread is a session whose external id
is the thread's. See README.md beside this file.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time

PROVIDER = "codex"
# The longest text that is handed on, in characters; Fairway keeps 4 KiB.
LONGEST = 1000
# How long the words that explain a state may come after it, in seconds.
PATIENCE = 1.0
# fairway's exit codes: refused for good, and try again.
CONFLICT, BUSY = 4, 8
TRIES = 5


def main():
    args = arguments()
    try:
        stream = open(args.file, "rb") if args.file else sys.stdin.buffer
    except OSError as error:
        sys.exit(f"codex-app-server.py: cannot read {args.file}: {error.strerror}")
    watcher = Watcher(Fairway(args), args)
    lines = queue.Queue(maxsize=1000)
    threading.Thread(target=feed, args=(stream, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=PATIENCE if watcher.holds() else None)
        except queue.Empty:
            watcher.settle()
            continue
        if line is None:
            break
        message = parsed(line)
        if message is not None:
            watcher.take(message)
    watcher.settle()
    return 1 if watcher.fairway.failed else 0


def arguments():
    parser = argparse.ArgumentParser(description="Tells Fairway how the threads of a Codex app-server stand.")
    parser.add_argument("--role", required=True, help="the role that the threads work in")
    parser.add_argument("--task-id", help="the task that they work on")
    parser.add_argument("--lane", help="their lane")
    parser.add_argument("--backend", default="codex-app-server", help="the backend, a label")
    parser.add_argument("--transcript", help="the transcript's file")
    parser.add_argument("--complete", action="store_true", help="the end of a turn is the end of the task")
    parser.add_argument("--handoff-to", metavar="ROLE", help="with --complete: offer the task to this role")
    parser.add_argument("--script", default=script(), help="provider-event.sh")
    parser.add_argument("file", nargs="?", help="the stream; by default stdin")
    args = parser.parse_args()
    if args.handoff_to and not args.complete:
        parser.error("--handoff-to goes with --complete")
    return args


def script():
    """The script that `fairway adapter install` writes above this file, else that of this checkout."""
    here = os.path.dirname(os.path.realpath(__file__))
    installed = os.path.join(here, "..", "provider-event.sh")
    return installed if os.path.exists(installed) else os.path.join(here, "..", "..", "session-adapters", "provider-event.sh")


def feed(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def parsed(line):
    """A message of the server; None for what is none."""
    line = line.strip()
    if line.startswith(b"> "):
        return None
    if line.startswith(b"< "):
        line = line[2:]
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


class Watcher:
    """What is known of the threads, and what was told of them."""

    def __init__(self, fairway, args):
        self.fairway = fairway
        self.args = args
        # A state that waits for its words, by thread: (state, event id).
        self.held = {}
        # The last state that was told, by thread.
        self.told = {}
        # What the agent said last, by thread.
        self.said = {}
        # Where a thread is written down, as the server says.
        self.paths = {}

    def holds(self):
        return bool(self.held)

    def settle(self, thread=None):
        """Tells what is held without the words that did not come."""
        for one in [thread] if thread else list(self.held):
            if one in self.held:
                state, event = self.held.pop(one)
                self.tell(one, state, event)

    def take(self, message):
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or not isinstance(params, dict):
            return
        thread = params.get("threadId") or inner(params, "thread").get("id")
        if not isinstance(thread, str):
            return
        # The same message read again has the same id. One that says no time has none: better told twice than never.
        at = message.get("emittedAtMs")
        event = f"{method}@{at}" if isinstance(at, int) else None
        if method == "thread/started":
            self.paths[thread] = text(inner(params, "thread").get("path"))
            self.tell(thread, "started", event)
        elif method == "thread/status/changed":
            self.status(thread, inner(params, "status"), event)
        elif method == "turn/started":
            self.begins(thread, event)
        elif method.endswith("/requestApproval"):
            self.asks(thread, "waiting_on_approval", request(params), asked(method, params))
        elif method.endswith("/requestUserInput"):
            self.asks(thread, "waiting_on_input", questions(params), asked(method, params))
        elif method == "item/completed":
            item = inner(params, "item")
            if item.get("type") == "agentMessage":
                self.said[thread] = text(item.get("text"))
        elif method == "turn/completed":
            self.turn(thread, inner(params, "turn"))

    def status(self, thread, status, event):
        kind, flags = status.get("type"), status.get("activeFlags") or []
        if kind == "active" and "waitingOnApproval" in flags:
            self.hold(thread, "waiting_on_approval", event)
        elif kind == "active" and "waitingOnUserInput" in flags:
            self.hold(thread, "waiting_on_input", event)
        elif kind == "active":
            self.settle(thread)
            self.begins(thread, event)
            self.tell(thread, "running", event)
        elif kind == "systemError":
            self.hold(thread, "failed", event)

    def begins(self, thread, event):
        """A thread may go on after what was told to be its end: then a new session begins."""
        if self.told.get(thread) in ("failed", "completed"):
            self.tell(thread, "started", event and f"started/{event}")

    def hold(self, thread, state, event):
        """The words come with the next message: the request, or the turn's error."""
        self.settle(thread)
        if self.told.get(thread) != state or state != "failed":
            self.held[thread] = (state, event)

    def asks(self, thread, state, words, event):
        self.held.pop(thread, None)
        self.tell(thread, state, event, words)

    def turn(self, thread, turn):
        event, status = f"turn/{turn.get('id')}", turn.get("status")
        if status == "failed":
            self.held.pop(thread, None)
            if self.told.get(thread) != "failed":
                self.tell(thread, "failed", event, text(inner(turn, "error").get("message")))
            return
        self.settle(thread)
        if status == "completed" and self.args.complete:
            self.tell(thread, "completed", event, self.said.get(thread))
        elif status in ("completed", "interrupted"):
            # The end of a turn is not the end of the task: the agent waits for its next one.
            self.fairway.idle(thread, turn.get("id"))

    def tell(self, thread, state, event, words=None):
        self.told[thread] = state
        transcript = (self.args.transcript or self.paths.get(thread)) if state == "started" else None
        self.fairway.event(thread, state, event, words, transcript)


class Fairway:
    """Hands events on."""

    def __init__(self, args):
        self.args = args
        self.sessions = {}
        self.failed = False

    def event(self, thread, state, event, words, transcript):
        args = self.args
        call = [args.script, "--json", f"--provider={PROVIDER}", f"--external-session-id={thread}", f"--state={state}"]
        call += [f"--role={args.role}", f"--backend={args.backend}"] + ([f"--event-id={key(event)}"] if event else [])
        for flag, value in [("task-id", args.task_id), ("lane", args.lane), ("transcript", transcript)]:
            call += [f"--{flag}={value}"] if value else []
        if state == "completed" and args.handoff_to:
            call += [f"--handoff-to={args.handoff_to}"]
        answer = self.call(call + (["--summary=-"] if words else []), words)
        if answer is not None:
            self.sessions[thread] = answer["session"]["id"]
            print(f"{key(thread)} {state}: {'; '.join(answer['effects'])}", flush=True)

    def idle(self, thread, turn):
        session = self.sessions.get(thread)
        if session is None:
            return
        call = [os.environ.get("FAIRWAY_BIN") or "fairway", "session", "heartbeat", session, "--activity=idle", "--json"]
        # A turn ends once, however often that is read.
        if self.call(call + [f"--request-id={key(f'idle-{thread}-{turn}')}"], None) is not None:
            print(f"{key(thread)} idle", flush=True)

    def call(self, call, words):
        """Runs a command with words on its stdin; answers with its document, or None when it was refused."""
        for wait in range(TRIES):
            try:
                ran = subprocess.run(call, input=(words or "").encode(), capture_output=True, check=False)
            except OSError as error:
                sys.exit(f"codex-app-server.py: cannot run {call[0]}: {error.strerror}")
            if ran.returncode != BUSY:
                break
            time.sleep(2**wait / 10)
        if ran.returncode == 0:
            return json.loads(ran.stdout)
        sys.stderr.write(f"codex-app-server.py: {ran.stderr.decode(errors='replace').strip()}\n")
        self.failed = self.failed or ran.returncode != CONFLICT
        return None


def key(words):
    """An id that fairway takes: at most 128 printable letters of ASCII without spaces."""
    return "".join(letter if "!" <= letter <= "~" else "_" for letter in words)[-128:]


def inner(value, name):
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def asked(method, params):
    """The id of a request: of its turn and item. The number of the message counts anew with every connection."""
    return f"{method}/{params.get('turnId')}/{params.get('itemId')}"


def request(params):
    """What an approval is asked for."""
    what = text(params.get("command")) or text(params.get("grantRoot")) or ""
    why = text(params.get("reason"))
    return f"{what} ({why})" if what and why else what or why


def questions(params):
    listed = params.get("questions")
    found = [text(one.get("question")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return text(" / ".join(one for one in found if one))


def text(value):
    """A program's text as data: no control characters, not longer than needed, None when there is nothing."""
    if isinstance(value, list):
        value = " ".join(str(word) for word in value)
    if not isinstance(value, str):
        return None
    value = "".join(letter if letter == "\n" or letter.isprintable() else " " for letter in value[: LONGEST * 2])
    value = value.strip()
    return (value if len(value) <= LONGEST else value[: LONGEST - 1] + "…") or None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
