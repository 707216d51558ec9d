#!/usr/bin/env python3
"""Copies all plants into an SQLite file, and then every change, for ever:

    export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
    examples/mirror.py plants.sqlite

It can be killed at any time and started again: it goes on where it was. Others can read the file meanwhile.
"""

import argparse
import http.client
import sqlite3
import sys
import urllib.parse

import service

TABLES = """
    pragma journal_mode = wal;
    create table if not exists plants (id integer primary key, name text not null, tag text, walk integer not null);
    create index if not exists plants_walk on plants (walk);
    create table if not exists position (walk integer not null, next text);
    insert into position select 1, null where not exists (select * from position);
"""


def mirror(copy):
    """Walks through the changes. A walk that begins without a position brings every plant that there is."""
    wait = 0
    while True:
        walk, position = copy.execute("select walk, next from position").fetchone()
        page = read_changes(position, wait)
        wait = 30 if page and page["atEnd"] else 0
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


def move(copy, old, new):
    """Keeps the new walk and position, unless somebody else has moved from the old ones meanwhile."""
    moved = copy.execute("update position set walk = ?, next = ? where walk = ? and next is ?", new + old)
    if moved.rowcount == 0:
        sys.exit("another mirror writes to the same file")


def read_changes(position, wait):
    """Returns the next changes and the position after them, or None if a new walk has to begin. Tries for ever if that
    can help, else exits and says what is wrong."""
    query = {"limit": 1000, "wait": wait, **({} if position is None else {"after": position})}
    is_reported = False
    while True:
        headers = {}
        try:
            response = service.send("GET", "/changes?" + urllib.parse.urlencode(query))
            if response.status == 200:
                return {name: response.body[name] for name in ("changes", "next", "atEnd")}
            if response.status not in TEMPORARY:
                error, message = service.error_of(response)
                if error == 41001:
                    print(f"beginning a new walk: {message}", file=sys.stderr)
                    return None
                service.refused(response, REMEDIES[error])
            problem, headers = f"status {response.status}", response.headers
        # What stands in front of the service has errors of its own.
        except (ValueError, KeyError, TypeError, http.client.InvalidURL):
            sys.exit(service.NOT_PLANT_STORE)
        except (OSError, http.client.HTTPException) as failure:
            problem = failure
        if not is_reported:
            print(f"no changes from {service.URL} ({problem}): trying again", file=sys.stderr)
            is_reported = True
        service.pause(headers)


# Of the service and of proxies in front of it.
TEMPORARY = [408, 429, 502, 503, 504]

REMEDIES = {
    **service.REMEDIES,
    40022: "start again with another file",
    50100: "copy another store, or this one by export",
}

parser = argparse.ArgumentParser(
    description="Copies plants into an SQLite file, for ever. Set PLANT_STORE_TOKEN, and PLANT_STORE_URL if it is elsewhere."
)
parser.add_argument("file")
file = service.arguments_of(parser).file or parser.error("the file needs a name")
try:
    connection = sqlite3.connect(file)
    connection.executescript(TABLES)
    mirror(connection)
except sqlite3.Error as failure:
    sys.exit(f"cannot use {file} ({failure}): is it a copy that this program has made?")
