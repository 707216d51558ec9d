#!/usr/bin/env python3
"""Creates a plant:

    export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
    examples/create-plant.py 9223372036854775807 'Pinus longaeva' conifer
"""

import argparse
import json

import service

REMEDIES = {
    **dict.fromkeys([40009, 40010], "give it another id"),
    **dict.fromkeys([40013, 40022], "fix the plant"),
}

parser = argparse.ArgumentParser(description="Creates a plant. Set PLANT_STORE_TOKEN, and PLANT_STORE_URL if it is elsewhere.")
parser.add_argument("id", type=int)
parser.add_argument("name")
parser.add_argument("tag", nargs="?")
arguments = service.arguments_of(parser)
plant = {name: value for name, value in vars(arguments).items() if value is not None}
print(json.dumps(service.request("POST", "/plants", REMEDIES, body=plant).body))
