"""Reads an array in all states of its conversion in place: each read must be right or fail.

Usage: read_in_place.py EXPECTED STATES
"""

import pathlib
import sys

import numpy
import tensorstore
import zarr


def by_zarr(path):
    return zarr.open_array(path, mode="r")[...]


def by_tensorstore(path):
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}
    return tensorstore.open(spec, open=True).result().read().result()


expected = by_zarr(sys.argv[1])
for read in (by_zarr, by_tensorstore):
    outcomes = {"right": 0, "refused": 0}
    for state in sorted(pathlib.Path(sys.argv[2]).iterdir()):
        try:
            found = read(str(state))
        except Exception:
            outcomes["refused"] += 1
            continue
        assert numpy.array_equal(found, expected), f"{read.__name__}: {state}"
        outcomes["right"] += 1
    assert min(outcomes.values()) > 0, f"{read.__name__}: {outcomes}"
