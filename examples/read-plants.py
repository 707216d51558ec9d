#!/usr/bin/env python3
"""Prints all plants, the one with an id, or those with a text in their names, as lines of JSON that `npm run import` takes:

    export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
    examples/read-plants.py
    examples/read-plants.py 9223372036854775807
    examples/read-plants.py --name=rosa
"""

import argparse
import json
import os
import re
import sys
import urllib.parse

import service

REMEDIES = {**dict.fromkeys([40401, 41000], "check the id"), 40022: "check the id or the text"}


def get(path):
    return service.request("GET", path, REMEDIES)


def pages(name):
    """Page by page: one that the connection broke off is read again."""
    # An empty name is as none.
    query = "?" + urllib.parse.urlencode({"limit": 1000, "name": name})
    while query:
        page = get("/plants" + query)
        yield page.body
        # It has the name. The last page has no link to another.
        link = re.fullmatch(r'<(.*)>; rel="next"', page.headers.get("Link", ""))
        query = link and link[1]


parser = argparse.ArgumentParser(description="Prints plants. Set PLANT_STORE_TOKEN, and PLANT_STORE_URL if it is elsewhere.")
wanted = parser.add_mutually_exclusive_group()
wanted.add_argument("id", type=int, nargs="?", help="of the one to print")
wanted.add_argument("--name", default="", help="a text in their names, letters of either case alike")
arguments = service.arguments_of(parser)
try:
    for page in pages(arguments.name) if arguments.id is None else [[get(f"/plants/{arguments.id}").body]]:
        for plant in page:
            print(json.dumps(plant))
    sys.stdout.flush()
except OSError as failure:
    # At its exit Python would try again to write what is left.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(f"cannot write the plants ({failure})")
