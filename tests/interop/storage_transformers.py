"""Checks that zarr-python reads an array with a storage transformer through a group as fill values.

zarr-python refuses the array where `zarr.open_array` opens it. This program fails on the day
when it refuses the array in groups, too. `docs/serving.md` links to it.
"""

import json
import pathlib
import tempfile
import warnings

import xarray
import zarr

warnings.simplefilter("ignore")

TO_CHANGE = """
zarr-python {version} does not read the array as fill values by {way} any more: {outcome}.
If it refuses the array: say the version in `docs/serving.md` ("zarr-python and parts"), remove the
report there, the warning of `convert --parts` about arrays without a suffix, and this test."""


def make(folder):
    """Writes an array of 1, 2, 3, 4 whose chunk is stored in one part, beside its key."""
    array = zarr.create_group(folder).create_array(
        "x", shape=(4,), chunks=(4,), dtype="uint8", fill_value=0, compressors=None,
        dimension_names=("i",),
    )
    array[:] = [1, 2, 3, 4]
    (folder / "x/c/0").rename(folder / "x/c/0.data")
    parts = {"name": "concat-parts", "configuration": {"parts": [{"key_suffix": ".data"}]}}
    document = folder / "x/zarr.json"
    metadata = json.loads(document.read_text())
    document.write_text(json.dumps(metadata | {"storage_transformers": [parts]}))


def outcome(read):
    try:
        return list(map(int, read()))
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    make(folder)
    opened = outcome(lambda: zarr.open_array(folder / "x", mode="r")[:])
    assert "storage transformers" in str(opened), f"zarr.open_array: {opened}"
    group = zarr.open_group(folder, mode="r")
    ways = {
        "a group": lambda: group["x"][:],
        "the members of a group": lambda: dict(group.members())["x"][:],
        "consolidated metadata": lambda: zarr.consolidate_metadata(folder)["x"][:],
        "xarray": lambda: xarray.open_zarr(folder)["x"].values,
    }
    for way, read in ways.items():
        found = outcome(read)
        text = TO_CHANGE.format(version=zarr.__version__, way=way, outcome=found)
        assert found == [0, 0, 0, 0], text
    zarr.open_group(folder, mode="r+")["x"][:] = 7
    assert (folder / "x/c/0").exists(), TO_CHANGE.format(
        version=zarr.__version__, way="a write through a group", outcome="no chunk"
    )
