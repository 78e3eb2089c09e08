"""Finds the arrays of a served group: served_group.py URL"""

import sys

import xarray
import zarr

url = sys.argv[1]
group = zarr.open_group(url, mode="r")
assert dict(group.members()).keys() == {"dem", "inner"}, dict(group.members())
assert dict(group["inner"].members()).keys() == {"wind"}
assert group["dem"][:].tolist() == [1, 2, 3, 4]
dataset = xarray.open_zarr(url)
assert dataset["dem"].dims == ("x",), dataset
assert dataset["dem"].values.tolist() == [1, 2, 3, 4]
assert xarray.open_zarr(url, group="inner")["wind"].values.tolist() == [5, 6, 7, 8]
