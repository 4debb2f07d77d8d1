#!/usr/bin/env python3
"""The smallest agent runtime that speaks Fairway's worker API: it says what it does, asks before it acts, takes its prompts
from the stream and acknowledges each. Nothing but the standard library.

    fairway serve &
    FAIRWAY_SOCKET=.fairway/runtime/worker.sock examples/worker-api/runtime.py --role backend --prompts 1
"""

import argparse
import http.client
import json
import os
import socket
import sys
import uuid


class Worker(http.client.HTTPConnection):
    """A connection to the socket of `fairway serve`."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def post(self, route, document):
        self.request("POST", route, json.dumps(document), {"content-type": "application/json"})
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())


def items(path, run):
    """What the server has for this run, one after the other."""
    stream = Worker(path)
    stream.request("GET", f"/stream?run_id={run}", headers={"accept": "text/event-stream"})
    event, data = None, []
    for line in stream.getresponse():
        line = line.decode().rstrip("\r\n")
        if line.startswith("event:"):
            event = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield event, json.loads("\n".join(data))
            event, data = None, []


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--role", default="backend", help="the role that it registers under")
    words.add_argument("--session", help="its session's id; by default one is made")
    words.add_argument("--prompts", type=int, default=1, help="how many prompts it works through")
    asked = words.parse_args()
    path, run = os.environ["FAIRWAY_SOCKET"], os.environ.get("FAIRWAY_RUN_ID") or str(uuid.uuid4())
    worker = Worker(path)

    def report(event, **more):
        document = {"event": event, "run_id": run, **more}
        if asked.session:
            document["session_id"] = asked.session
        status, answer = worker.post("/lifecycle", document)
        if status != 200:
            sys.exit(f"{event}: {answer}")

    report("started", metadata={"role": asked.role})
    report("ready")
    print(f"ready: run {run}", flush=True)
    left = asked.prompts
    for event, data in items(path, run) if left else ():
        if event != "prompt":
            continue
        report("busy")
        # The work would be here. Before each tool call: may it be made?
        call = {"command": data["content"]}
        _, verdict = worker.post("/authorize", {"run_id": run, "tool": "Bash", "input": call, "context": {}})
        print(("would run" if verdict["allowed"] else f"must not run ({verdict['reason']})") + f": {data['content']}", flush=True)
        worker.post("/ack", {"run_id": run, "message_ids": [data["id"]]})
        worker.post("/telemetry", {"run_id": run, "events": [{
            "type": "turn_complete",
            "timestamp": data["created_at"],
            "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 0, "cache_creation_tokens": 0,
                      "model": "none", "cost_usd": None},
            "tools_called": [],
        }]})
        report("idle")
        left -= 1
        if not left:
            break
    report("stopped", metadata={"exit_code": 0})


main()
