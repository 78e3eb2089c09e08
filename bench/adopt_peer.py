"""Reads the directories of all TIFFs of a folder, by each program that is there.

Prints the median time of a file in milliseconds, and the sum of all offsets of tiles,
as JSON by the name of the program.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from statistics import median

warnings.filterwarnings("ignore")


def by_tifffile(paths):
    import tifffile

    def read(path):
        with tifffile.TiffFile(path) as file:
            page = file.pages[0]
            return sum(page.dataoffsets) + sum(page.databytecounts)

    return lambda: sum(read(path) for path in paths)


def by_virtual_tiff(paths):
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtual_tiff import VirtualTIFF

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = VirtualTIFF(ifd=0)

    def read(path):
        store = parser(url=f"file://{path}", registry=registry)
        (array,) = store._group.arrays.values()
        manifest = array.manifest
        return int(manifest._offsets.sum() + manifest._lengths.sum())

    return lambda: sum(read(path) for path in paths)


paths = sorted(str(path) for path in Path(sys.argv[1]).glob("*.tif"))
rounds = int(sys.argv[2])
contestants = {}
for name, make in {"tifffile": by_tifffile, "virtual-tiff": by_virtual_tiff}.items():
    try:
        contestants[name] = make(paths)
    except ImportError as error:
        print(f"{name} is not measured: {error}", file=sys.stderr)
times = {name: [] for name in contestants}
sums = {}
for _ in range(rounds):
    for name, read in contestants.items():
        start = time.perf_counter()
        sums[name] = read()
        times[name].append((time.perf_counter() - start) * 1000 / len(paths))
print(json.dumps({name: {"time": median(times[name]), "sum": sums[name]} for name in times}))
