#!/usr/bin/env python3
"""A client of Plant Store that needs nothing but Python's standard library:

    export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
    examples/plants.py create 9223372036854775807 'Pinus longaeva' conifer
    examples/plants.py follow plants.sqlite

An int of Python has as many digits as it takes, so that ids stay exact.
"""

import argparse
import base64
import collections
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import signal
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("PLANT_STORE_URL", "http://127.0.0.1:3000")
TOKEN = os.environ.get("PLANT_STORE_TOKEN", "")

AGAIN = "send it again"
REMEDIES = {
    **dict.fromkeys([40800, 50300], AGAIN),
    **dict.fromkeys([40100, 40101, 40300], "get a token"),
    **dict.fromkeys([40009, 40010], "give it another id"),
    **dict.fromkeys([40401, 41000], "check the id"),
    **dict.fromkeys([40001, 40015, 40400, 40500, 40600, 41700, 43100], "fix this program"),
    40000: "fix the list",
    40013: "send less",
    40022: "fix what it names",
    41001: "start again without a position",
    41200: "do it again",
    50000: "report it",
    50100: "read the store as a list",
}

Response = collections.namedtuple("Response", "status headers body")


class Refused(Exception):
    """The service has refused a request: what is wrong, and what to do about it."""

    def __init__(self, response):
        # Raises KeyError or TypeError if something else has responded.
        self.error = response.body["error"]
        self.is_temporary = REMEDIES[self.error] == AGAIN
        request = response.headers["X-Request-Id"]
        super().__init__(f"{self.error}: {response.body['message']} ({REMEDIES[self.error]}; request {request})")


def send_once(method, path, body=None, headers={}):
    """Returns the response to one request, also one that reports an error. Its body is what the JSON says, or None.

    Raises OSError or HTTPException if there is none or it broke off, and ValueError if it is not that of the service."""
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json", **headers}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    try:
        response = urllib.request.urlopen(urllib.request.Request(URL + path, body, headers, method=method), timeout=60)
    except urllib.error.HTTPError as failure:
        response = failure
    with response:
        text = response.read()
        try:
            return Response(response.code, response.headers, None if response.code == 204 else json.loads(text))
        except ValueError:
            # What stands in front of the service has errors of its own.
            if response.code < 300:
                raise
            return Response(response.code, response.headers, None)


def send(method, path, body=None, headers={}):
    """Returns the response to a request that was successful. Sends it up to 5 times if that can help, which is safe.

    Raises Refused, or exits and says what is wrong."""
    for attempt in range(1, 6):
        pause = {}
        try:
            response = send_once(method, path, body, headers)
            if response.status < 300:
                return response
            refused = Refused(response)
            if not refused.is_temporary or attempt == 5:
                raise refused
            pause = response.headers
        except (OSError, http.client.HTTPException) as failure:
            if not is_lost(failure) or attempt == 5:
                sys.exit(f"cannot reach {URL} ({failure}): is the service running there?")
        except (ValueError, KeyError, TypeError):
            not_plant_store()
        wait(pause)


def is_lost(failure):
    """Whether the connection broke off, before the response or in the middle of it: what has arrived is not all."""
    reason = getattr(failure, "reason", failure)
    return isinstance(reason, (http.client.IncompleteRead, ConnectionResetError, BrokenPipeError))


def not_plant_store():
    sys.exit(f"{URL} does not respond as Plant Store does: is that its address?")


def wait(headers):
    """As long as the service wishes. A proxy may give a date, or nothing."""
    after = headers.get("Retry-After", "")
    time.sleep(min(int(after), 60) if re.fullmatch("[0-9]+", after) else 1)


def create(arguments):
    """Creates a plant."""
    plant = {"id": arguments.id, "name": arguments.name}
    if arguments.tag is not None:
        plant["tag"] = arguments.tag
    print(json.dumps(send("POST", "/plants", plant).body))


def read(arguments):
    """Prints all plants, the one with an id, or those with a text in their names. A page that the connection broke off is
    read again."""
    if arguments.id is not None:
        return print(json.dumps(send("GET", f"/plants/{arguments.id}").body))
    # An empty name is as none.
    query = "?" + urllib.parse.urlencode({"limit": 1000, "name": arguments.name})
    while query:
        page = send("GET", "/plants" + query)
        for plant in page.body:
            print(json.dumps(plant))
        # It has the name. The last page has no link to another.
        link = re.fullmatch(r'<(.*)>; rel="next"', page.headers.get("Link", ""))
        query = link and link[1]


def change(arguments):
    """Changes or deletes a plant, and prints what it is then, or was. If somebody else changes it at the same time, it does
    the same to what they have made of it: the ETag makes sure that nothing of that is lost."""
    path = f"/plants/{arguments.id}"
    for attempt in range(1, 6):
        found = send("GET", path)
        headers = {"If-Match": found.headers.get("ETag", "")}
        try:
            if arguments.command == "delete":
                send("DELETE", path, headers=headers)
                return print(json.dumps(found.body))
            return print(json.dumps(send("PUT", path, changed(found.body, arguments), headers).body))
        except Refused as refused:
            if refused.error != 41200 or attempt == 5:
                raise
        print("somebody else has changed it meanwhile: trying again with what it is now", file=sys.stderr)


def changed(plant, arguments):
    kept = {name: value for name, value in plant.items() if not (name == "tag" and arguments.no_tag)}
    return {**kept, **{name: value for name in ("name", "tag") if (value := getattr(arguments, name)) is not None}}


# Of a part of a list: bytes, less than the service's BODY_LIMIT, by default 1 MiB, and records.
PART, MOST = 1_000_000, 20_000


def import_list(arguments):
    """Imports a list of any length, in parts."""
    created = unchanged = refused = 0
    is_csv = arguments.file.endswith(".csv")
    media_type = "text/csv" if is_csv else "application/x-ndjson"
    with open(arguments.file, "rb") as file:
        for line, part in parts(file, is_csv):
            result = send("POST", "/import", part, {"Content-Type": media_type}).body
            created += result["created"]
            unchanged += result["unchanged"]
            refused += len(result["refused"])
            for one in result["refused"]:
                print(f"line {line + one['line']}: {one['message']}", file=sys.stderr)
    print(f"{created} created, {unchanged} unchanged, {refused} refused")
    sys.exit(2 if refused else 0)


def parts(file, is_csv):
    """Yields each part, below the names of CSV, and by how many lines the list is ahead of it."""
    each = records(file, is_csv)
    names = next(each, b"") if is_csv else b""
    part, count, ahead = bytearray(names), 0, 0
    for record in each:
        if count == MOST or (count and len(part) + len(record) > PART):
            yield ahead, bytes(part)
            ahead += part.count(b"\n") - names.count(b"\n")
            part, count = bytearray(names), 0
        part += record
        count += 1
    yield ahead, bytes(part)


def records(file, is_csv):
    """Yields lines, or records of CSV, which have an even number of quotes."""
    record = b""
    for line in file:
        record += line
        if not is_csv or record.count(b'"') % 2 == 0:
            yield record
            record = b""
    if record:
        yield record


MIRROR = """
    pragma journal_mode = wal;
    create table if not exists plants (id integer primary key, name text not null, tag text, walk integer not null);
    create index if not exists plants_walk on plants (walk);
    create table if not exists position (walk integer not null, next text);
    insert into position select 1, null where not exists (select * from position);
"""


def follow(arguments):
    """Copies all plants into an SQLite file, and then every change, for ever. It can be killed at any time and started again:
    it goes on where it was. A walk that begins without a position brings every plant that there is."""
    copy = open_copy(arguments.file, MIRROR)
    pause = 0
    while True:
        walk, position = copy.execute("select walk, next from position").fetchone()
        page = read_changes(position, pause)
        pause = 30 if page and page["atEnd"] else 0
        # The page and the position after it are committed together, or not at all.
        with copy:
            if page is None:
                move(copy, (walk, position), (walk + 1, None))
                continue
            for change in page["changes"]:
                if "deleted" in change:
                    copy.execute("delete from plants where id = ?", [change["id"]])
                else:
                    plant = [change["id"], change["name"], change.get("tag"), walk]
                    copy.execute("replace into plants values (?, ?, ?, ?)", plant)
            if page["atEnd"]:
                # The walk has brought all that there is. What only earlier ones have brought was deleted meanwhile.
                copy.execute("delete from plants where walk < ?", [walk])
            move(copy, (walk, position), (walk, page["next"]))


def open_copy(file, tables):
    copy = sqlite3.connect(file, check_same_thread=False)
    copy.executescript(tables)
    return copy


def move(copy, old, new):
    """Keeps the new walk and position, unless somebody else has moved from the old ones meanwhile."""
    moved = copy.execute("update position set walk = ?, next = ? where walk = ? and next is ?", new + old)
    if moved.rowcount == 0:
        sys.exit("another mirror writes to the same file")


def read_changes(position, pause):
    """Returns the next changes and the position after them, or None if a new walk has to begin. Tries for ever if that can
    help."""
    query = {"limit": 1000, "wait": pause, **({} if position is None else {"after": position})}
    is_reported = False
    while True:
        headers = {}
        try:
            response = send_once("GET", "/changes?" + urllib.parse.urlencode(query))
            if response.status == 200:
                return {name: response.body[name] for name in ("changes", "next", "atEnd")}
            # Of the service and of proxies in front of it.
            if response.status not in [408, 429, 502, 503, 504]:
                refused = Refused(response)
                if refused.error != 41001:
                    raise refused
                return print(f"beginning a new walk: {response.body['message']}", file=sys.stderr)
            problem, headers = f"status {response.status}", response.headers
        except (ValueError, KeyError, TypeError, http.client.InvalidURL):
            not_plant_store()
        except (OSError, http.client.HTTPException) as failure:
            problem = failure
        if not is_reported:
            print(f"no changes from {URL} ({problem}): trying again", file=sys.stderr)
            is_reported = True
        wait(headers)


# Webhooks come more than once, and late ones may come after newer ones. Within an epoch the greater number is the later
# state; after a restore or a failover of the service's database there is a new epoch.
RECEIVED = """
    pragma journal_mode = wal;
    create table if not exists plants
        (id integer primary key, name text not null, tag text, epoch text not null, changed integer not null);
"""
STORE = """
    insert into plants (id, name, tag, epoch, changed) values (?, ?, ?, ?, ?) on conflict (id) do update
        set name = excluded.name, tag = excluded.tag, epoch = excluded.epoch, changed = excluded.changed
        where epoch <> excluded.epoch or changed < excluded.changed
"""

# Octets of a body, which has one plant.
LARGEST = 16 * 1024**2

# Seconds between the clocks of the service and of this machine. Whoever records a request can repeat it for so long.
TOLERANCE = 300


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


def receive(arguments):
    """Keeps a copy of the plants in an SQLite file by the webhooks of the service. Deletions have none: follow has them."""
    secret = re.fullmatch("whsec_([A-Za-z0-9+/]{32,}={0,2})", os.environ.get("WEBHOOK_SECRET", ""))
    if not secret:
        sys.exit("WEBHOOK_SECRET must be that of the service: whsec_...")
    try:
        server = Server(("127.0.0.1", arguments.port), Receiver)
    except OSError as failure:
        sys.exit(f"cannot listen on port {arguments.port} ({failure})")
    server.key, server.lock = base64.b64decode(secret[1]), threading.Lock()
    server.copy = open_copy(arguments.file, RECEIVED)
    print(f"receiving webhooks at http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


def list_file(name):
    if re.search(r"\.(csv|ndjson)$", name) and os.path.isfile(name):
        return name
    raise argparse.ArgumentTypeError("name a file that ends with .csv or .ndjson")


def arguments_of():
    parser = argparse.ArgumentParser(description="Set PLANT_STORE_TOKEN, and PLANT_STORE_URL if it is elsewhere.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, run, *positional):
        added = commands.add_parser(name, help=run.__doc__ and run.__doc__.split(".")[0], allow_abbrev=False)
        added.set_defaults(run=run)
        for argument, options in positional:
            added.add_argument(argument, **options)
        return added

    identifier, file = ("id", {"type": int}), ("file", {})
    command("create", create, identifier, ("name", {}), ("tag", {"nargs": "?"}))
    wanted = command("read", read).add_mutually_exclusive_group()
    wanted.add_argument("id", type=int, nargs="?")
    wanted.add_argument("--name", default="")
    new = command("change", change, identifier)
    new.add_argument("--name")
    tags = new.add_mutually_exclusive_group()
    tags.add_argument("--tag")
    tags.add_argument("--no-tag", action="store_true")
    command("delete", change, identifier)
    command("import", import_list, ("file", {"type": list_file}))
    command("follow", follow, file)
    command("receive", receive, file).add_argument("--port", type=int, default=8080)
    arguments = parser.parse_args()
    if arguments.command == "change" and not (arguments.no_tag or arguments.name is not None or arguments.tag is not None):
        new.error("say what to change")
    if getattr(arguments, "file", None) == "":
        parser.error("the file needs a name")
    return arguments


def main():
    # Without Python's traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    arguments = arguments_of()
    if arguments.command != "receive" and not re.fullmatch(r"[\w.~+/-]+=*", TOKEN, re.ASCII):
        sys.exit("PLANT_STORE_TOKEN must be a token of the service; one that the service made itself is in data/access-token")
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except Refused as refused:
        sys.exit(str(refused))
    except sqlite3.Error as failure:
        sys.exit(f"cannot use {arguments.file} ({failure}): is it a copy that this program has made?")
    except OSError as failure:
        # At its exit Python would try again to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"cannot write the plants ({failure})")


main()
