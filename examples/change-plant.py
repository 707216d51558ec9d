#!/usr/bin/env python3
"""Changes the name or the tag of a plant and keeps the other, or deletes it. Prints what it is then, or was. If somebody
else changes the plant at the same time, it says so and does the same to what they have made of it:

    export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
    examples/change-plant.py 9223372036854775807 --name='Pinus longaeva' --tag=conifer
    examples/change-plant.py 9223372036854775807 --no-tag
    examples/change-plant.py 9223372036854775807 --delete
"""

import argparse
import json
import sys

import service

DIFFERS = 412
ATTEMPTS = 5

REMEDIES = {
    **dict.fromkeys([40013, 40022], "fix the id or the plant"),
    **dict.fromkeys([40401, 41000], "check the id"),
}


def change(path, changed):
    """Changes the plant to what the function makes of it, or deletes it if that is None. Returns what it is then, or was.
    The ETag makes sure that nothing is lost that somebody else has changed since it was read."""
    for attempt in range(1, ATTEMPTS + 1):
        found = service.request("GET", path, REMEDIES)
        plant = changed(found.body)
        response = service.request(
            "DELETE" if plant is None else "PUT",
            path,
            {**REMEDIES, 41200: None if attempt < ATTEMPTS else "do it again"},
            body=plant,
            headers={"If-Match": found.headers.get("ETag", "")},
        )
        if response.status != DIFFERS:
            return found.body if plant is None else response.body
        print("somebody else has changed it meanwhile: trying again with what it is now", file=sys.stderr)


parser = argparse.ArgumentParser(
    description="Changes or deletes a plant. Set PLANT_STORE_TOKEN, and PLANT_STORE_URL if it is elsewhere.", allow_abbrev=False
)
parser.add_argument("id", type=int)
parser.add_argument("--name")
tags = parser.add_mutually_exclusive_group()
tags.add_argument("--tag")
tags.add_argument("--no-tag", action="store_true")
parser.add_argument("--delete", action="store_true")
arguments = service.arguments_of(parser)
new = {name: value for name, value in (("name", arguments.name), ("tag", arguments.tag)) if value is not None}
if arguments.delete == bool(new or arguments.no_tag):
    parser.error("say what to change, or --delete")


def changed(plant):
    if arguments.delete:
        return None
    kept = ["name"] if arguments.no_tag else ["name", "tag"]
    return {**{name: plant[name] for name in kept if name in plant}, **new}


print(json.dumps(change(f"/plants/{arguments.id}", changed)))
