#!/usr/bin/env python3
"""Receives the webhooks of a service, and keeps a copy of the plants in an SQLite file:

    export WEBHOOK_SECRET=whsec_...
    examples/receive-webhooks.py plants.sqlite --port 8080

It needs nothing but Python's standard library. Others can read the file meanwhile. Deletions have no webhook: the feed
of changes has them, and mirror.py follows it.
"""

import argparse
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import signal
import sqlite3
import sys
import threading
import time

# Octets of a body, which has one plant.
LARGEST = 16 * 1024**2

# Seconds between the clocks of the service and of this machine. Whoever records a request can repeat it for so long.
TOLERANCE = 300

TABLE = """
    pragma journal_mode = wal;
    create table if not exists plants
        (id integer primary key, name text not null, tag text, epoch text not null, changed integer not null);
"""

# Webhooks come more than once, and late ones may come after newer ones. Within an epoch the greater number is the later
# state; after a restore or a failover of the service's database there is a new epoch.
STORE = """
    insert into plants (id, name, tag, epoch, changed) values (?, ?, ?, ?, ?) on conflict (id) do update
        set name = excluded.name, tag = excluded.tag, epoch = excluded.epoch, changed = excluded.changed
        where epoch <> excluded.epoch or changed < excluded.changed
"""


def is_genuine(key, headers, body):
    """Whether the service has signed it, a short time ago: https://www.standardwebhooks.com"""
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    signed = f"{identifier}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    # While the secret is being replaced there are two.
    signatures = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), one.encode()) for one in signatures)


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LARGEST:
            self.close_connection = True
            return self.respond(413)
        body = self.rfile.read(int(length))
        if not is_genuine(self.server.key, self.headers, body):
            return self.respond(401)
        _, epoch, changed, _, _ = self.headers["webhook-id"].split("_")
        # An int of Python has as many digits as it takes.
        plant = json.loads(body)
        with self.server.lock, self.server.copy as copy:
            copy.execute(STORE, [plant["id"], plant["name"], plant.get("tag"), epoch, int(changed)])
        # Only now: what is acknowledged does not come again.
        self.respond(204)

    def respond(self, status):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_request(self, *_):
        """Does not log each of them."""


class Server(http.server.ThreadingHTTPServer):
    # The service has some tens of connections.
    request_queue_size = 128
    daemon_threads = True


def key_of(secret):
    match = re.fullmatch("whsec_([A-Za-z0-9+/]{32,}={0,2})", secret)
    return base64.b64decode(match[1]) if match else sys.exit("WEBHOOK_SECRET must be that of the service: whsec_...")


parser = argparse.ArgumentParser(description="Keeps a copy of plants by their webhooks. Set WEBHOOK_SECRET.")
parser.add_argument("file")
parser.add_argument("--port", type=int, default=8080)
arguments = parser.parse_args()
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    server = Server(("127.0.0.1", arguments.port), Receiver)
except OSError as failure:
    sys.exit(f"cannot listen on port {arguments.port} ({failure})")
server.key = key_of(os.environ.get("WEBHOOK_SECRET", ""))
server.lock = threading.Lock()
try:
    server.copy = sqlite3.connect(arguments.file, check_same_thread=False)
    server.copy.executescript(TABLE)
except sqlite3.Error as failure:
    sys.exit(f"cannot use {arguments.file} ({failure}): is it a copy that this program has made?")
print(f"receiving webhooks at http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
