#!/usr/bin/env python3
"""Creates a plant, with nothing but Python's standard library:

    export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
    examples/create-plant.py 9223372036854775807 'Pinus longaeva' conifer
"""

import argparse
import http.client
import json
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("PLANT_STORE_URL", "http://127.0.0.1:3000")
TOKEN = os.environ.get("ACCESS_TOKEN", "")

REMEDIES = {
    **dict.fromkeys([40800, 50300], "send it again"),
    **dict.fromkeys([40009, 40010], "give it another id"),
    **dict.fromkeys([40013, 40022], "fix the plant"),
    **dict.fromkeys([40100, 40101, 40300], "get a token"),
    **dict.fromkeys([40000, 40001, 40015, 40400, 40500, 41700, 43100], "fix this program"),
    50000: "report it",
}


def send(request):
    """Returns status, headers and JSON of the response, also of one that reports an error."""
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as failure:
        response = failure
    with response:
        return response.code, response.headers, json.load(response)


def create_plant(plant):
    """Returns the plant that was created. Tries 5 times if that can help, then exits and says what to do."""
    for attempt in range(1, 6):
        try:
            request = urllib.request.Request(
                URL + "/plants",
                data=json.dumps(plant).encode(),
                headers={"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"},
            )
            status, headers, body = send(request)
            if status == 200:
                return body
            error, message, remedy = body["error"], body["message"], REMEDIES[body["error"]]
        except (OSError, http.client.HTTPException) as failure:
            sys.exit(f"cannot reach {URL} ({failure}): is the service running there?")
        # What stands in front of the service has errors of its own.
        except (ValueError, KeyError, TypeError):
            sys.exit(f"{URL} does not respond as Plant Store does: is that its address?")
        if remedy != "send it again" or attempt == 5:
            sys.exit(f"{error}: {message} ({remedy}; request {headers['X-Request-Id']})")
        time.sleep(int(headers.get("Retry-After", 1)))


# Without Python's traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)
parser = argparse.ArgumentParser(description="Creates a plant. Set ACCESS_TOKEN, and PLANT_STORE_URL if it is elsewhere.")
# An int of Python has as many digits as it takes.
parser.add_argument("id", type=int)
parser.add_argument("name")
parser.add_argument("tag", nargs="?")
arguments = parser.parse_args()
if not re.fullmatch(r"[\w.~+/-]+=*", TOKEN, re.ASCII):
    sys.exit("ACCESS_TOKEN must be a token of the service; one that the service made itself is in data/access-token")
print(json.dumps(create_plant({name: value for name, value in vars(arguments).items() if value is not None})))
