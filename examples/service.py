"""The service that PLANT_STORE_URL and PLANT_STORE_TOKEN name, for the programs beside this file. It needs nothing but
Python's standard library."""

import collections
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
TOKEN = os.environ.get("PLANT_STORE_TOKEN", "")

AGAIN = "send it again"
NOT_PLANT_STORE = f"{URL} does not respond as Plant Store does: is that its address?"

# What to do about the errors that any request can get.
REMEDIES = {
    **dict.fromkeys([40800, 50300], AGAIN),
    **dict.fromkeys([40100, 40101, 40300], "get a token"),
    **dict.fromkeys([40000, 40001, 40015, 40400, 40500, 40600, 41700, 43100], "fix this program"),
    50000: "report it",
}

Response = collections.namedtuple("Response", "status headers body")


def arguments_of(parser):
    """Returns the arguments that the parser finds. Exits and says why if they are wrong, or if there is no token."""
    # Without Python's traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    arguments = parser.parse_args()
    if not re.fullmatch(r"[\w.~+/-]+=*", TOKEN, re.ASCII):
        sys.exit("PLANT_STORE_TOKEN must be a token of the service; one that the service made itself is in data/access-token")
    return arguments


def send(method, path, body=None, headers={}):
    """Returns the response to one request, also one that reports an error. Its body is what the JSON says, or None.

    Raises OSError or HTTPException if there is none or it broke off, and ValueError if it is not that of the service."""
    headers = {"Authorization": "Bearer " + TOKEN, **headers}
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    try:
        response = urllib.request.urlopen(urllib.request.Request(URL + path, body, headers, method=method), timeout=60)
    except urllib.error.HTTPError as failure:
        response = failure
    with response:
        text = response.read()
        try:
            # An int of Python has as many digits as it takes.
            body = None if response.code == 204 else json.loads(text)
        except ValueError:
            # What stands in front of the service has errors of its own.
            if response.code < 300:
                raise
            body = None
        return Response(response.code, response.headers, body)


def error_of(response):
    """Returns the number and the message. Raises KeyError or TypeError if something else has responded."""
    return response.body["error"], response.body["message"]


def refused(response, remedy):
    error, message = error_of(response)
    sys.exit(f"{error}: {message} ({remedy}; request {response.headers['X-Request-Id']})")


def pause(headers={}):
    """Waits as long as the service wishes. A proxy may give a date, or nothing."""
    after = headers.get("Retry-After", "")
    time.sleep(min(int(after), 60) if re.fullmatch("[0-9]+", after) else 1)


def request(method, path, remedies={}, **others):
    """Returns the response to a request that was successful, or whose error has the remedy None. Sends it up to 5 times
    if that can help, which is safe, then exits and says what is wrong and what to do about it."""
    for attempt in range(1, 6):
        headers = {}
        try:
            response = send(method, path, **others)
            if response.status < 300:
                return response
            remedy = {**REMEDIES, **remedies}[error_of(response)[0]]
            if remedy is None:
                return response
            if remedy != AGAIN or attempt == 5:
                refused(response, remedy)
            headers = response.headers
        except (OSError, http.client.HTTPException) as failure:
            if not is_lost(failure) or attempt == 5:
                sys.exit(f"cannot reach {URL} ({failure}): is the service running there?")
        except (ValueError, KeyError, TypeError):
            sys.exit(NOT_PLANT_STORE)
        pause(headers)


def is_lost(failure):
    """Whether the connection broke off, before the response or in the middle of it: what has arrived is not all."""
    reason = getattr(failure, "reason", failure)
    return isinstance(reason, (http.client.IncompleteRead, ConnectionResetError, BrokenPipeError))
