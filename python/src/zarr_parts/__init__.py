"""Reads Zarr v3 arrays with suffixed chunk keys and chunks in parts in zarr-python."""

from zarr_parts._errors import (
    MetadataError,
    MissingPartError,
    PartsError,
    PartSizeError,
    UnfinishedWriteError,
)
from zarr_parts._store import PartsStore

__all__ = [
    "MetadataError",
    "MissingPartError",
    "PartSizeError",
    "PartsError",
    "PartsStore",
    "UnfinishedWriteError",
]
