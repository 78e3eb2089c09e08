"""Migrates a group from Zarr v2 to v3 as `zarr migrate v3` does, or reads one.

Usage: migrate.py write FOLDER
       migrate.py read FOLDER VERSION...
"""

import math
import sys
import warnings

import numpy
import zarr

warnings.simplefilter("ignore")
NUMBERS = numpy.arange(1, 49, dtype="int32").reshape(6, 8)
ATTRIBUTES = {"nan": math.nan, "least": -math.inf, "most": 2**64 - 1}


def write(folder):
    """Writes a group with documents of both versions, and an array of Zarr v2 in it."""
    from zarr.metadata.migrate_v3 import migrate_v2_to_v3

    group = zarr.open_group(folder, mode="w", zarr_format=2)
    for path in ("a", "sub/b"):
        array = group.create_array(
            path, shape=(6, 8), chunks=(3, 4), dtype="int32", fill_value=0
        )
        array[:] = NUMBERS
        array.attrs.update(ATTRIBUTES)
    migrate_v2_to_v3(input_store=folder, output_store=None, dry_run=False)
    group = zarr.open_group(folder, mode="a", zarr_format=2)
    old = group.create_array("old", shape=(6, 8), chunks=(3, 4), dtype="int32")
    old[:] = NUMBERS
    zarr.consolidate_metadata(folder, zarr_format=2)


def read(folder, *versions):
    """Asserts that each version finds the elements and the attributes of its arrays."""
    for version in versions:
        number = None if version == "any" else int(version)
        for path in ("a", "sub/b"):
            array = zarr.open_array(
                f"{folder}/{path}", mode="r", zarr_format=number
            )
            assert numpy.array_equal(array[:], NUMBERS), (version, path)
            attributes = dict(array.attrs)
            assert math.isnan(attributes.pop("nan")), attributes
            assert attributes == {"least": -math.inf, "most": 2**64 - 1}
    # Of Zarr v3 after a conversion to another place, and of Zarr v2 in place.
    old = zarr.open_array(f"{folder}/old", mode="r")
    assert numpy.array_equal(old[:], NUMBERS)
    for path in ("a", "sub/b") if "2" not in versions else ():
        try:
            zarr.open_array(f"{folder}/{path}", mode="r", zarr_format=2)
        except FileNotFoundError:
            continue
        raise AssertionError(f"{path} opens as an array of Zarr v2")


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
