"""The errors of chunks in parts.

None of them is a `FileNotFoundError` or a `KeyError`: zarr-python takes these for an
absent chunk, and would return fill values.
"""

from collections.abc import Sequence


class PartsError(Exception):
    """A chunk cannot be read from its parts. All errors of chunks have this class."""


class MissingPartError(PartsError):
    """Some parts of a chunk are stored, and others are not."""

    def __init__(self, chunk_key: str, missing: Sequence[str], present: Sequence[str]) -> None:
        self.chunk_key = chunk_key
        self.missing = tuple(missing)
        self.present = tuple(present)
        super().__init__(chunk_key, self.missing, self.present)

    def __str__(self) -> str:
        return (
            f"Chunk {self.chunk_key!r} lacks {', '.join(map(repr, self.missing))} but has "
            f"{', '.join(map(repr, self.present))}: a chunk is stored with all of its parts or not at all"
        )


class PartSizeError(PartsError):
    """A part of a chunk has another length than the metadata or the shard index allow."""

    def __init__(self, key: str, expected: int, found: int, at_least: bool = False) -> None:
        self.key = key
        self.expected = expected
        self.found = found
        self.at_least = at_least
        super().__init__(key, expected, found, at_least)

    def __str__(self) -> str:
        least = "at least " if self.at_least else ""
        return f"Part {self.key!r} is {self.found} bytes long, expected {least}{self.expected}"


class UnfinishedWriteError(PartsError):
    """A chunk is being written, or its writer was killed."""

    def __init__(self, chunk_key: str) -> None:
        self.chunk_key = chunk_key
        super().__init__(chunk_key)

    def __str__(self) -> str:
        return (
            f"Chunk {self.chunk_key!r} is being written, or was left half written by a program that was "
            "killed: try again later, or finish the write by `zarr-parts repair`"
        )


class MetadataError(ValueError):
    """A `zarr.json` has a chunk key encoding or storage transformers that are not understood."""
