"""What the tests and their peers hand each other, in a folder.

`listing.json` names groups and arrays with their metadata, `elements/` has the
elements of each array, little endian and in C order, and `hierarchy/` the Zarr
hierarchy. What a peer cannot write or read it says in `refused.json`.
"""

import json
import shutil
import sys
from pathlib import Path


def run(write_group, write, finish, read):
    """Does what the command line says: `write FOLDER` or `read FOLDER`."""
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
    """Elements as handed over, for NumPy."""
    return np.frombuffer(elements, np.dtype(dtype).newbyteorder("<")).reshape(shape)


def as_elements(np, array):
    """Elements to hand over, from NumPy."""
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False).tobytes("C")
