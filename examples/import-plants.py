#!/usr/bin/env python3
"""Imports a list of any length, in parts. Prints how many plants were created or are there already, and the lines that were
refused:

    export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
    examples/import-plants.py plants.csv
"""

import argparse
import os
import sys
import urllib.parse

import service

# Bytes of a part: less than the service's BODY_LIMIT, by default 1 MiB.
PART = 1_000_000

TYPES = {".csv": "text/csv", ".ndjson": "application/x-ndjson"}
REMEDIES = dict.fromkeys([40000, 40013, 40022], "fix the list")


def results(file, media_type):
    """Yields the line before each part, and what became of its records. The service says how much of a part it has taken."""
    query, rest, line = {"more": "true"}, file.read(PART), 0
    while True:
        path = "/import?" + urllib.parse.urlencode(query)
        result = service.request("POST", path, REMEDIES, body=rest, headers={"Content-Type": media_type}).body
        yield line, result
        taken, rest = rest[: result["consumed"]], rest[result["consumed"] :]
        rest += file.read(PART - len(rest))
        if "more" not in query or not rest:
            return
        line += taken.count(b"\n")
        if taken:
            query["continued"] = "true"
        if "columns" in result:
            query.update(columns=",".join(result["columns"]), separator=result["separator"])
        if not taken:
            # The last record, which has no line end, or one that is too large.
            del query["more"]


parser = argparse.ArgumentParser(description="Imports plants. Set PLANT_STORE_TOKEN, and PLANT_STORE_URL if it is elsewhere.")
parser.add_argument("file", help="a list, named .csv or .ndjson")
arguments = service.arguments_of(parser)
media_type = TYPES.get(os.path.splitext(arguments.file)[1])
if media_type is None or not os.path.isfile(arguments.file):
    parser.error("name a file that ends with .csv or .ndjson")
created = unchanged = refused = 0
with open(arguments.file, "rb") as file:
    for line, result in results(file, media_type):
        created += result["created"]
        unchanged += result["unchanged"]
        refused += len(result["refused"])
        for one in result["refused"]:
            print(f"line {line + one['line']}: {one['message']}", file=sys.stderr)
print(f"{created} created, {unchanged} unchanged, {refused} refused")
sys.exit(2 if refused else 0)
