"""Writes coordinate reference systems without a code, or compares those of TIFF files with them.

    custom_systems.py FOLDER            writes texts, or compares TIFF files with them
    custom_systems.py FOLDER write      writes TIFF files by GDAL
    custom_systems.py FOLDER adopted    compares the attributes of adopted files with the files
    custom_systems.py FOLDER grids      writes arrays with grid mappings of CF
    custom_systems.py FOLDER mapped     compares TIFF files of these arrays with the grid mappings
"""

import json
import sys
import warnings
from pathlib import Path

import numpy
import rasterio
import zarr
from pyproj import CRS, Transformer

warnings.filterwarnings("ignore")
# The definition, and longitudes and latitudes of some places.
EUROPE = [(2.0, 41.0), (10.5, 52.25), (24.0, 60.0)]
SYSTEMS = {
    "+proj=longlat +a=6371229 +b=6371229": EUROPE,
    "+proj=longlat +ellps=bessel": EUROPE,
    "+proj=tmerc +lat_0=10 +lon_0=11 +k=0.9997 +x_0=5000 +y_0=-300 +ellps=GRS80": EUROPE,
    "+proj=tmerc +lon_0=9 +k=0.9996 +x_0=500000 +datum=WGS84 +units=us-ft": EUROPE,
    "+proj=merc +lon_0=5 +k=0.98 +x_0=100 +datum=WGS84": EUROPE,
    "+proj=merc +lat_ts=42 +lon_0=5 +a=6371200 +b=6371200": EUROPE,
    "+proj=lcc +lat_1=35 +lat_2=65 +lat_0=52 +lon_0=10 +x_0=4000000 +y_0=2800000 +ellps=GRS80": EUROPE,
    "+proj=lcc +lat_1=48.2 +lat_0=48.2 +lon_0=9.5 +R=6371229": EUROPE,
    "+proj=laea +lat_0=50 +lon_0=11 +x_0=432100 +y_0=321000 +ellps=GRS80": EUROPE,
    "+proj=laea +lat_0=50 +lon_0=11 +R=6370997": EUROPE,
    "+proj=aea +lat_1=43 +lat_2=62 +lat_0=30 +lon_0=10 +ellps=intl": EUROPE,
    "+proj=aeqd +lat_0=53 +lon_0=24 +x_0=5837287 +y_0=2121415 +datum=WGS84": EUROPE,
    "+proj=stere +lat_0=90 +lat_ts=71 +lon_0=-40 +datum=WGS84": EUROPE,
    "+proj=stere +lat_0=90 +k=0.95 +lon_0=10 +ellps=bessel": EUROPE,
    "+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=7 +datum=WGS84": [(2.0, -70.0), (90.0, -80.0)],
    "+proj=sterea +lat_0=52 +lon_0=5 +k=0.9999 +x_0=155000 +y_0=463000 +ellps=bessel": EUROPE,
    "+proj=ortho +lat_0=45 +lon_0=10 +ellps=WGS84": EUROPE,
    "+proj=sinu +lon_0=3 +R=6371007.181": EUROPE,
}

# Systems that GeoTIFF represents, and those of which nothing certain is known.
AMERICA = [(-97.0, 40.0), (-120.0, 30.0)]
ADOPTED = SYSTEMS | {
    "+proj=lcc +lat_1=38.5 +lat_2=38.5 +lat_0=38.5 +lon_0=-97.5 +R=6371229": AMERICA,
    "+proj=lcc +lat_1=35 +lat_0=35 +lon_0=10 +k_0=0.9 +ellps=GRS80": EUROPE,
    "+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +datum=NAD83": AMERICA,
    "+proj=laea +lat_0=45 +lon_0=-100 +datum=NAD27 +units=us-ft": AMERICA,
    "+proj=utm +zone=33 +ellps=intl": EUROPE,
    "+proj=utm +zone=33 +south +ellps=intl": EUROPE,
}
UNCERTAIN = [
    "+proj=aeqd +lat_0=53 +lon_0=24 +x_0=5837287 +y_0=2121415 +datum=WGS84",
    "+proj=eqc +lat_ts=30 +lon_0=5 +R=6371000",
    "+proj=stere +lat_0=50 +lon_0=10 +ellps=WGS84",
    "+proj=tmerc +lon_0=9 +datum=WGS84 +pm=paris",
    "+proj=tmerc +lon_0=9 +ellps=bessel +towgs84=1,2,3,4,5,6,7",
    "+proj=merc +lon_0=5 +datum=WGS84 +units=km",
    "+proj=omerc +lat_0=4 +lonc=115 +alpha=53 +k=0.99984 +ellps=evrstSS",
    "+proj=cea +lat_ts=30 +ellps=WGS84",
]
folder = Path(sys.argv[1])


def places(crs, points, of):
    source = crs.geodetic_crs if of is None else of
    transformer = Transformer.from_crs(source, crs, always_xy=True)
    return [transformer.transform(*point) for point in points]


def write():
    for i, definition in enumerate([*ADOPTED, *UNCERTAIN]):
        (folder / str(i)).mkdir()
        with rasterio.open(
            folder / str(i) / "0_0.tif",
            "w",
            driver="GTiff",
            width=16,
            height=16,
            count=1,
            dtype="uint8",
            tiled=True,
            blockxsize=16,
            blockysize=16,
            crs=CRS.from_user_input(definition).to_wkt(),
            transform=rasterio.Affine(30, 0, 500, 0, -20, 900),
        ) as dataset:
            dataset.write(numpy.ones((1, 16, 16), "uint8"))


def adopted():
    problems = []
    for i, definition in enumerate([*ADOPTED, *UNCERTAIN]):
        document = json.loads((folder / str(i) / "zarr.json").read_text())
        text = document["attributes"].get("proj:wkt2")
        is_known = definition in ADOPTED and definition not in UNCERTAIN
        if (text is not None) != is_known:
            problems.append(f"{definition}: {text}")
        if text is None:
            continue
        with rasterio.open(folder / str(i) / "0_0.tif") as dataset:
            expected = CRS.from_wkt(dataset.crs.to_wkt())
        for of in (None, "EPSG:4326"):
            found = [places(crs, ADOPTED[definition], of) for crs in (CRS.from_wkt(text), expected)]
            if numpy.abs(numpy.subtract(*found)).max() > 1e-3:
                problems.append(f"{definition}: {found[0]} and not {found[1]} in {text}")
    if problems:
        sys.exit("\n".join(problems))


def mappings():
    """The systems whose parameters CF has, in metres."""
    for i, definition in enumerate(ADOPTED):
        mapping = CRS.from_user_input(definition).to_cf()
        mapping.pop("crs_wkt")
        # pyproj leaves out the latitude of one parallel.
        if mapping.get("grid_mapping_name") == "lambert_conformal_conic":
            mapping.setdefault("latitude_of_projection_origin", mapping["standard_parallel"])
        if "k_0" in definition or "us-ft" in definition:
            continue
        if "grid_mapping_name" in mapping:
            yield i, definition, mapping


def grids():
    for i, definition, mapping in mappings():
        group = zarr.create_group(folder / str(i))
        is_projected = CRS.from_user_input(definition).is_projected
        for name, length in (("y", 16), ("x", 32)):
            units = "m" if is_projected else "degrees"
            line = group.create_array(
                name, shape=(length,), dtype="f8", dimension_names=[name], attributes={"units": units}
            )
            line[:] = numpy.arange(length) * (0.5 if name == "x" else -0.5) + 10
        array = group.create_array(
            "a",
            shape=(16, 32),
            dtype="u1",
            dimension_names=["y", "x"],
            attributes={"grid_mapping": "crs"},
        )
        array[:] = 1
        group.create_array("crs", shape=(), dtype="i4", attributes=mapping)


def mapped():
    problems = []
    count = 0
    for i, definition, mapping in mappings():
        count += 1
        file = next((folder / "tiffs" / str(i)).rglob("*.tif"))
        with rasterio.open(file) as dataset:
            found = CRS.from_wkt(dataset.crs.to_wkt())
            assert dataset.transform[:6] == (0.5, 0, 9.75, 0, -0.5, 10.25), dataset.transform
        if found.geodetic_crs is None:
            problems.append(f"{definition}: no system of {mapping}")
            continue
        both = [places(c, ADOPTED[definition], None) for c in (found, CRS.from_user_input(definition))]
        if numpy.abs(numpy.subtract(*both)).max() > 1e-3:
            problems.append(f"{definition}: {both[0]} and not {both[1]} of {mapping}")
    assert count > 10, count
    if problems:
        sys.exit("\n".join(problems))


if len(sys.argv) > 2:
    {"write": write, "adopted": adopted, "grids": grids, "mapped": mapped}[sys.argv[2]]()
    sys.exit()
texts = folder / "systems.json"
if not texts.exists():
    written = []
    for definition in SYSTEMS:
        crs = CRS.from_user_input(definition)
        forms = {"WKT2": crs.to_wkt(), "PROJJSON": crs.to_json_dict()}
        # The old form has none of some methods.
        try:
            forms["WKT1"] = crs.to_wkt("WKT1_GDAL")
        except Exception:
            pass
        for form, system in forms.items():
            written.append({"definition": definition, "form": form, "system": system})
    texts.write_text(json.dumps(written))
    sys.exit()
problems = []
for i, case in enumerate(json.loads(texts.read_text())):
    name = f"{case['form']} of {case['definition']}"
    with rasterio.open(folder / f"{i}.tif") as dataset:
        found = dataset.crs
    if found is None:
        problems.append(f"{name}: no system")
        continue
    expected = CRS.from_user_input(case["definition"])
    sphere = expected.geodetic_crs
    for point in SYSTEMS[case["definition"]]:
        places = [
            Transformer.from_crs(crs.geodetic_crs, crs, always_xy=True).transform(*point)
            for crs in (expected, CRS.from_wkt(found.to_wkt()))
        ]
        if max(abs(a - b) for a, b in zip(*places)) > 1e-3:
            problems.append(f"{name}: {places[1]} and not {places[0]} in {found.to_wkt()}")
            break
if problems:
    sys.exit("\n".join(problems))
