"""The arrays for other implementations, in tests/conformance, read by a `PartsStore`."""

import json

import numpy as np
import pytest
import zarr
from conftest import ROOT

from zarr_parts import MetadataError, MissingPartError, PartSizeError, PartsStore

FOLDER = ROOT / "tests/conformance"
CASES = {case["name"]: case for case in json.loads((FOLDER / "index.json").read_text())["cases"]}
CLASSES = {"metadata": MetadataError, "missing part": MissingPartError, "part size": PartSizeError, "damage": Exception}


@pytest.mark.parametrize("name", CASES)
def test_the_array_is_as_the_index_says(name: str, anywhere, pipeline) -> None:
    case = CASES[name]
    store = PartsStore(anywhere(FOLDER / "arrays" / name))
    for expected in case.get("arrays", ()):
        array = zarr.open_array(store, path=expected["path"], mode="r")
        assert [list(array.shape), str(array.dtype.newbyteorder("="))] == [expected["shape"], expected["data_type"]]
        elements = np.asarray(array[...])
        assert elements.astype(elements.dtype.newbyteorder("<")).tobytes().hex() == expected["elements"]
    if refused := case.get("refused"):
        at_open = pytest.raises(CLASSES[refused["as"]])
        if refused["at"] == "open":
            with at_open:
                open_member(store, refused.get("path", ""))
        else:
            array = open_member(store, "")
            with at_open as error:
                array[...]
            assert not isinstance(error.value, FileNotFoundError | KeyError)


def open_member(store: PartsStore, path: str) -> zarr.Array:
    return zarr.open_group(store, mode="r")[path] if path else zarr.open_array(store, mode="r")
