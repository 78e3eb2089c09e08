"""Compares plain copies of adopted pyramids, as other programs read them, with their cases."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import zarr
from ome_zarr_models.v05.image import Image

warnings.simplefilter("ignore")
try:
    from imagecodecs.zarr import register_codecs

    register_codecs()
    HAS_CODECS = True
except ImportError:  # Before imagecodecs 2026.5.10, or with an older Python.
    HAS_CODECS = False


def check(case):
    group = zarr.open_group(case["path"], mode="r")
    attributes = dict(group.attrs)
    layout = attributes["multiscales"]["layout"]
    assert len(layout) == len(case["levels"]), layout
    for level, entry in zip(case["levels"], layout):
        array = group[entry["asset"]]
        codecs = json.dumps(array.metadata.to_dict()["codecs"], default=str)
        if "imagecodecs_" in codecs and not HAS_CODECS:
            continue
        expected = np.fromfile(level["elements"], level["dtype"]).reshape(level["shape"])
        found = array[...]
        assert found.dtype == expected.dtype and np.array_equal(found, expected), entry["asset"]
    if "ome" in attributes:
        check_ome(group, attributes["ome"], case)
    if "geo" in case:
        check_geo(group, layout, case["geo"])
    assert ("ome" in case) <= ("ome" in attributes)


def check_ome(group, ome, case):
    image = Image.from_zarr(group)
    (multiscale,) = image.attributes.ome.multiscales
    axes = [axis.name for axis in multiscale.axes]
    for dataset, level in zip(multiscale.datasets, case["levels"]):
        assert group[dataset.path].shape == tuple(level["shape"])
        assert list(group[dataset.path].metadata.dimension_names) == axes
    expected = case.get("ome", {})
    scale = multiscale.datasets[0].coordinateTransformations[0].scale
    for axis, number, found in zip(multiscale.axes, scale, axes):
        value, unit = expected.get(found, [1, None])
        assert (number, axis.unit) == (value, unit), (found, number, axis.unit)
    if "labels" in expected:
        assert [channel["label"] for channel in ome["omero"]["channels"]] == expected["labels"]


def check_geo(group, layout, geo):
    attributes = group.attrs
    code = None if geo["epsg"] is None else f"EPSG:{geo['epsg']}"
    if code is not None:
        assert attributes["proj:code"] == code, attributes["proj:code"]
    else:
        assert "proj:code" not in attributes and attributes["geotiff"]["geoKeyDirectory"]
    a, b, c, d, e, f = geo["transform"]
    base = np.array([[a, b, c], [d, e, f]])
    height, width = layout[0]["spatial:shape"]
    for entry in layout:
        array = group[entry["asset"]]
        assert array.attrs["spatial:transform"] == entry["spatial:transform"]
        names = list(array.metadata.dimension_names)
        rows, columns = (array.shape[names.index(name)] for name in array.attrs["spatial:dimensions"])
        assert entry["spatial:shape"] == [rows, columns]
        matrix = np.array(entry["spatial:transform"]).reshape(2, 3)
        # The corners of the picture, by the corners of its pixels or by their centers.
        shift = 0.5 if array.attrs["spatial:registration"] == "node" else 0
        for y, x in [(0, 0), (0, 1), (1, 0), (1, 1)]:
            found = matrix @ [x * columns - shift, y * rows - shift, 1]
            expected = base @ [x * width, y * height, 1]
            assert np.abs(found - expected).max() < 1e-6 * np.abs(base).max(), (entry, found, expected)


wrong = []
for case in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    try:
        check(case)
    except Exception as error:
        wrong.append(f"{case['name']}: {error!r}")
if wrong:
    sys.exit("\n".join(wrong))
