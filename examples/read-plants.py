#!/usr/bin/env python3
"""Prints all plants, or the one with an id, as lines of JSON that `npm run import` takes, with nothing but Python's
standard library:

    export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
    examples/read-plants.py
    examples/read-plants.py 9223372036854775807
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
    **dict.fromkeys([40022, 40401], "check the id"),
    **dict.fromkeys([40100, 40101, 40300], "get a token"),
    **dict.fromkeys([40001, 40400, 40500, 40600, 41700, 43100], "fix this program"),
    50000: "report it",
}


def send(path):
    """Returns status, headers and JSON of the response, also of one that reports an error; None if the connection broke."""
    request = urllib.request.Request(URL + path, headers={"Authorization": "Bearer " + TOKEN})
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as failure:
        response = failure
    except ConnectionError:
        return None
    with response:
        try:
            text = response.read()
        except (http.client.IncompleteRead, ConnectionError):
            return None
        # An int of Python has as many digits as it takes.
        return response.code, response.headers, json.loads(text)


def get(path):
    """Returns headers and JSON of the response. Tries 5 times if that can help, then exits and says what to do."""
    for attempt in range(1, 6):
        wait = 1
        try:
            outcome = send(path)
            if outcome:
                status, headers, body = outcome
                if status == 200:
                    return headers, body
                error, message, remedy = body["error"], body["message"], REMEDIES[body["error"]]
                if remedy != "send it again" or attempt == 5:
                    sys.exit(f"{error}: {message} ({remedy}; request {headers['X-Request-Id']})")
                wait = int(headers.get("Retry-After", 1))
        except (OSError, http.client.HTTPException) as failure:
            sys.exit(f"cannot reach {URL} ({failure}): is the service running there?")
        # What stands in front of the service has errors of its own.
        except (ValueError, KeyError, TypeError):
            sys.exit(f"{URL} does not respond as Plant Store does: is that its address?")
        time.sleep(wait)
    sys.exit(f"cannot reach {URL} (every connection broke): is the service running there?")


def pages():
    query = "?limit=1000"
    while query:
        headers, plants = get("/plants" + query)
        yield plants
        # The last page has no link to another.
        link = re.fullmatch(r'<(.*)>; rel="next"', headers.get("Link", ""))
        query = link and link[1]


# Without Python's traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
parser = argparse.ArgumentParser(description="Prints plants. Set ACCESS_TOKEN, and PLANT_STORE_URL if it is elsewhere.")
parser.add_argument("id", type=int, nargs="?", help="of the one to print")
arguments = parser.parse_args()
if not re.fullmatch(r"[\w.~+/-]+=*", TOKEN, re.ASCII):
    sys.exit("ACCESS_TOKEN must be a token of the service; one that the service made itself is in data/access-token")
try:
    for page in pages() if arguments.id is None else [[get(f"/plants/{arguments.id}")[1]]]:
        for plant in page:
            print(json.dumps(plant))
    sys.stdout.flush()
except OSError as failure:
    # At its exit Python would try again to write what is left.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(f"cannot write the plants ({failure})")
