"""Exchanges arrays with the tests in a folder.

`listing.json` lists groups and arrays with their metadata, `elements/` holds the
elements of each array, little endian and in C order, and `hierarchy/` the Zarr
hierarchy. The peer writes its errors by path to `refused.json`.
"""

import json
import shutil
import sys
from pathlib import Path


def run(write_group, write, finish, read):
    """Runs the command of the command line: `write FOLDER` or `read FOLDER`."""
    command, folder = sys.argv[1], Path(sys.argv[2])
    listing = json.loads((folder / "listing.json").read_text("utf-8"))
    root = folder / "hierarchy"
    refused = {}
    if command == "write":
        for path in listing["groups"]:
            write_group(root, path)
    for array in listing["arrays"]:
        elements = folder / "elements" / array["file"]
        try:
            if command == "write":
                write(root, array, elements.read_bytes())
            else:
                elements.write_bytes(read(root, array["path"]))
        except Exception as error:
            refused[array["path"]] = f"{type(error).__name__}: {error}"
            if command == "write":
                shutil.rmtree(root / array["path"], ignore_errors=True)
    if command == "write":
        finish(root)
    (folder / "refused.json").write_text(json.dumps(refused), "utf-8")


def as_array(np, elements, dtype, shape):
    """Converts the bytes of elements to a NumPy array."""
    return np.frombuffer(elements, np.dtype(dtype).newbyteorder("<")).reshape(shape)


def as_elements(np, array):
    """Converts a NumPy array to the bytes of its elements."""
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False).tobytes("C")
