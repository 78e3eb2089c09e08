"""Compares arrays of Zarr v2 with their zarr.json, through zarr-python and TensorStore.

Usage: read_v2.py FOLDER REPORT [elements|migrate]
Writes a JSON object with an outcome for each array: "equal", or what differs or fails.
With `elements`, the elements of Zarr v2 as texts. With `migrate`, the outcomes of
`zarr migrate v3`, and whether its metadata says the same as the zarr.json that is there.
"""

import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import imagecodecs.numcodecs
import imagecodecs.zarr
import numpy as np
import zarr

warnings.simplefilter("ignore")
imagecodecs.numcodecs.register_codecs(verbose=False)
imagecodecs.zarr.register_codecs()


def read(path, version):
    """The elements, the attributes and the metadata of an array."""
    array = zarr.open_array(str(path), mode="r", zarr_format=version)
    data = array[...] if array.ndim > 0 else np.asarray(array[()])
    return np.asarray(data), dict(array.attrs), array


def text(error):
    return f"{type(error).__name__}: {error}".split("\n")[0][:600]


def same(a, b):
    if b.dtype.itemsize == 0:
        return "no NumPy elements"  # What TensorStore gives for bytes.
    if a.shape != b.shape:
        return f"shapes {a.shape} and {b.shape}"
    is_object = a.dtype.kind in "OT" and b.dtype.kind in "OT"
    if not is_object and a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
        return f"data types {a.dtype} and {b.dtype}"
    if is_object:
        equal = a.tolist() == b.tolist()
    else:
        order = a.dtype.newbyteorder("=")
        equal = a.astype(order).tobytes() == b.astype(order).tobytes()
        if not equal and a.dtype.kind in "fc":
            equal = np.array_equal(a, b, equal_nan=True)
        elif not equal and a.dtype.fields:
            equal = all(np.array_equal(a[n], b[n]) for n in a.dtype.names)
    return None if equal else f"elements differ: {a.ravel()[:4]} and {b.ravel()[:4]}"


def tensorstore_read(path, driver):
    import tensorstore

    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path) + "/"}}
    return tensorstore.open(spec, open=True, read=True).result().read().result()


def outcome(path):
    try:
        two, attributes, _ = read(path, 2)
    except Exception as error:
        return {"v2": text(error)}
    found = {"v2": "read"}
    try:
        three, others, array = read(path, 3)
        problem = same(two, three)
        if problem is None and json.dumps(attributes) != json.dumps(others):
            problem = f"attributes {attributes} and {others}"
        found["v3"] = problem or "equal"
    except Exception as error:
        found["v3"] = text(error)
    try:
        seen = tensorstore_read(path, "zarr3")
        found["tensorstore"] = same(two, np.asarray(seen)) or "equal"
    except Exception as error:
        found["tensorstore"] = text(error)
    return found


def number(value):
    """A number as JavaScript writes it."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    is_whole = value == int(value) and abs(value) < 1e21
    return str(int(value)) if is_whole else repr(float(value))


def element(value):
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    if isinstance(value, (complex, np.complexfloating)):
        return f"{number(float(value.real))} {number(float(value.imag))}"
    return str(value)


def elements(path):
    data, _, _ = read(path, 2)
    return [element(value) for value in data.ravel()]


def meaning(metadata, has_fill):
    """What metadata says, without what depends on the program that wrote it."""
    document = metadata.to_dict()
    codecs = []
    for codec in document["codecs"]:
        configuration = dict(codec.get("configuration", {}))
        if codec["name"] == "blosc":
            configuration.pop("typesize")  # Of elements before or after the filters.
        if codec["name"] == "bytes":
            configuration.pop("endian", None)  # Likewise.
        if codec["name"] == "transpose" and len(configuration["order"]) < 2:
            continue
        codecs.append((codec["name"], configuration))
    names = ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "attributes"]
    if has_fill:
        names.append("fill_value")
    return json.dumps([{name: document[name] for name in names}, codecs], default=str)


def migrated(path):
    from zarr.metadata.migrate_v3 import migrate_v2_to_v3

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "array"
        shutil.copytree(path, copy)
        ours = zarr.open_array(str(copy), mode="r", zarr_format=3).metadata
        (copy / "zarr.json").unlink()
        try:
            migrate_v2_to_v3(input_store=str(copy))
        except Exception as error:
            return {"migrate": "refused", "problem": text(error)}
        two, _, old = read(path, 2)
        try:
            three, _, array = read(copy, 3)
        except Exception as error:
            return {"migrate": "unreadable", "problem": text(error)}
        problem = same(two, three)
        if problem is not None:
            return {"migrate": "differs", "problem": problem}
        # What migrate writes for null is wrong for some data types.
        has_fill = old.metadata.fill_value is not None
        said = [meaning(each, has_fill) for each in (ours, array.metadata)]
        return {"migrate": "equal", "metadata": "equal" if said[0] == said[1] else said}


def main(folder, report, what="outcomes"):
    folder = Path(folder)
    task = {"elements": elements, "migrate": migrated}.get(what, outcome)
    outcomes = {
        path.parent.relative_to(folder).as_posix(): task(path.parent)
        for path in sorted(folder.rglob(".zarray"))
    }
    Path(report).write_text(json.dumps(outcomes, indent=1))


main(*sys.argv[1:])
