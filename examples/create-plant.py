#!/usr/bin/env python3
"""Creates a plant, with nothing but Python's standard library:

    export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
    examples/create-plant.py 9223372036854775807 'Pinus longaeva' conifer
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

REMEDIES = {
    **dict.fromkeys([40800, 50300], "send it again"),
    40009: "give it another id",
    **dict.fromkeys([40013, 40022], "mend the plant"),
    **dict.fromkeys([40100, 40101], "get a token"),
    **dict.fromkeys([40000, 40001, 40015, 40400, 40500, 41700, 43100], "mend this program"),
    50000: "report it",
}


def create_plant(plant):
    """Returns the plant that was created. Tries 5 times if that can help, then exits and says what to do."""
    request = urllib.request.Request(
        os.environ.get("PLANT_STORE_URL", "http://127.0.0.1:3000") + "/plants",
        data=json.dumps(plant).encode(),
        headers={
            "Authorization": "Bearer " + os.environ.get("ACCESS_TOKEN", ""),
            "Content-Type": "application/json",
        },
    )
    for attempt in range(1, 6):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as failure:
            error = json.load(failure)
            remedy = REMEDIES[error["error"]]
            if remedy != "send it again" or attempt == 5:
                request_id = failure.headers["X-Request-Id"]
                sys.exit(f"{error['error']}: {error['message']} ({remedy}; request {request_id})")
            time.sleep(int(failure.headers.get("Retry-After", 1)))


plant_id, name, *tags = sys.argv[1:]
# An int of Python has as many digits as it takes.
print(json.dumps(create_plant({"id": int(plant_id), "name": name, **({"tag": tags[0]} if tags else {})})))
