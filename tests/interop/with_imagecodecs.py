"""Checks encoded chunks by imagecodecs, and encodes the same elements by it."""

import json
import sys
from pathlib import Path

import imagecodecs
import numpy as np


def encode(case, data):
    name = case["name"].removeprefix("imagecodecs_")
    encoded = getattr(imagecodecs, f"{name}_encode")(data, **case["options"])
    return encoded.tobytes() if isinstance(encoded, np.ndarray) else bytes(encoded)


def decode(case, encoded, like):
    name = case["name"].removeprefix("imagecodecs_")
    by = getattr(imagecodecs, f"{name}_decode")
    if name in ("delta", "floatpred"):
        array = np.frombuffer(encoded, like.dtype).reshape(like.shape)
        return by(array, **case["options"]).tobytes()
    if case["options"].get("raw"):  # Has no limit but the length of the output.
        return bytes(by(encoded, raw=True, out=like.nbytes))
    return bytes(by(encoded))


path = Path(sys.argv[1])
cases = json.loads(path.read_text("utf-8"))
for case in cases:
    data = bytes.fromhex(case["data"])
    elements = np.frombuffer(data, case["data_type"]).reshape(case["shape"])
    decoded = decode(case, bytes.fromhex(case["encoded"]), elements)
    if decoded != data:
        sys.exit(f"imagecodecs decodes other elements of {case}")
    takesArray = case["name"].endswith(("delta", "floatpred"))
    source = elements if takesArray or "axis" in case["options"] else data
    case["encoded"] = encode(case, source).hex()
path.write_text(json.dumps(cases), "utf-8")
