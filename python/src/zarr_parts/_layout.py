"""Where the chunks of an array are stored, by its metadata."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from zarr_parts._errors import MetadataError
from zarr_parts._json import extension, is_whole, members
from zarr_parts._keys import ChunkKeys, check_key, check_suffix, parse_chunk_keys

MOST_PARTS = 256
MOST_TRANSFORMERS = 32

PLAIN_KEYS = {"name": "default", "configuration": {"separator": "/"}}
"""The chunk key encoding that a `PartsStore` shows."""

_PLAIN_KEY = re.compile(r"(?:(.*)/)?c((?:/(?:0|[1-9][0-9]*))*)")


def split_plain_key(key: str) -> tuple[str, tuple[int, ...]] | None:
    """Split a key into the path of its array and the coordinates of a chunk; `None` for other keys."""
    match = _PLAIN_KEY.fullmatch(key)
    return match and (match[1] or "", tuple(map(int, match[2].split("/")[1:])))


@dataclass(frozen=True)
class Part:
    """One stored piece of a chunk. At most all parts but one have a size in chunks that can be written."""

    suffix: str
    size: int | None = None


@dataclass(frozen=True)
class ShardIndex:
    """The index of a shard: offsets and lengths as 64-bit little-endian numbers."""

    size: int
    is_first: bool


@dataclass(frozen=True)
class ArrayLayout:
    """Where the chunks of an array are stored.

    Attributes
    ----------
    keys
        The encoding of chunk keys.
    parts
        The parts of a chunk, in the order in which they make up the chunk.
    grid
        The number of chunks along each dimension; `None` if the chunk grid is not regular.
    index
        The index of each shard; `None` if chunks are no shards, or their index is encoded unusually.
    """

    keys: ChunkKeys
    parts: tuple[Part, ...]
    grid: tuple[int, ...] | None
    index: ShardIndex | None

    def is_in_grid(self, coordinates: Sequence[int]) -> bool:
        """Whether the array has a chunk with these coordinates."""
        is_ranked = len(coordinates) == self.keys.rank
        return is_ranked and (self.grid is None or all(c < n for c, n in zip(coordinates, self.grid, strict=True)))

    def shown_key(self, key: str) -> str | None:
        """Return the key that a stored value has in a plain copy, relative to the array; `None` for one that is hidden."""
        for part in sorted(self.parts, key=lambda part: -len(part.suffix)):
            if key.endswith(part.suffix):
                coordinates = self.keys.decode(key[: len(key) - len(part.suffix)])
                if coordinates is not None and self.is_in_grid(coordinates):
                    return "/".join(["c", *map(str, coordinates)])
        # A chunk that is shown hides any other value under its key.
        is_chunk = self.keys.decode(key) is not None
        is_plain = (split := split_plain_key(key)) is not None and split[0] == ""
        return None if is_plain or is_chunk else key


def parse_layout(document: Mapping[str, object]) -> ArrayLayout | None:
    """Return where the chunks of an array are stored, or `None` for an array that zarr-python reads as it is.

    Raises
    ------
    MetadataError
        If the chunk key encoding or the storage transformers are not understood.
    """
    encoding, transformers = document.get("chunk_key_encoding"), document.get("storage_transformers") or []
    if not isinstance(transformers, list):
        raise MetadataError(f"Expected storage_transformers, a list, found {transformers!r}")
    if encoding in ("default", {"name": "default"}, {"name": "default", "configuration": {}}, PLAIN_KEYS) and not transformers:
        return None
    shape = _shape(document.get("shape"), "shape")
    grid_name, grid, _ = extension(document.get("chunk_grid"), "chunk grid")
    chunk_shape = _shape(grid.get("chunk_shape"), "chunk_shape") if grid_name == "regular" and isinstance(grid, dict) else None
    keys = parse_chunk_keys(encoding, len(shape))
    parts = _flat_parts(transformers)
    _check_part_keys(parts, keys, len(shape))
    return ArrayLayout(
        keys,
        parts,
        chunk_shape and tuple(-(-n // c) for n, c in zip(shape, chunk_shape, strict=True)),
        _shard_index(document.get("codecs"), chunk_shape),
    )


def _shape(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(is_whole(n, 0 if what == "shape" else 1) for n in value):
        raise MetadataError(f"Expected {what}, a list of whole numbers, found {value!r}")
    return tuple(value)


def _flat_parts(transformers: Sequence[object]) -> tuple[Part, ...]:
    """Return the parts of a chunk, where a part that a further transformer divides is replaced by its parts."""
    flat, layers = [Part("")], 0
    for transformer in transformers:
        name, configuration, must_understand = extension(transformer, "storage transformer")
        if name != "concat-parts":
            if must_understand:
                raise MetadataError(f'Unknown storage transformer {name!r}; known is "concat-parts"')
            continue
        layers += 1
        parts = _parse_parts(configuration)
        if layers > MOST_TRANSFORMERS or len(flat) * len(parts) > MOST_PARTS:
            raise MetadataError(f"Expected at most {MOST_PARTS} parts and {MOST_TRANSFORMERS} transformers, found more")
        flat = [divided for part in flat for divided in _divide(part, parts)]
    return tuple(flat)


def _parse_parts(configuration: object) -> list[Part]:
    listed = members(configuration, "the configuration of concat-parts", ["parts"])["parts"]
    if not isinstance(listed, list) or not listed:
        raise MetadataError(f"Expected parts, a list of at least one part, found {listed!r}")
    parts = []
    for part in listed:
        found = members(part, "a part", ["key_suffix"], ["size"])
        size = found.get("size")
        if "size" in found and not is_whole(size):
            raise MetadataError(f"Expected a size, a whole number of bytes from 0 to 2^53 - 1, found {size!r}")
        parts.append(Part(check_suffix(found["key_suffix"], "key_suffix"), size if isinstance(size, int) else None))
    if len({part.suffix for part in parts}) < len(parts):
        raise MetadataError(f"Two parts have one key_suffix: {[part.suffix for part in parts]}")
    return parts


def _divide(part: Part, parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a part. One without a size gets the size that the others leave."""
    divided = [Part(part.suffix + inner.suffix, inner.size) for inner in parts]
    if part.size is None:
        return divided
    unsized = [i for i, inner in enumerate(parts) if inner.size is None]
    rest = part.size - sum(inner.size or 0 for inner in parts)
    if len(unsized) == 1 and rest >= 0:
        divided[unsized[0]] = Part(divided[unsized[0]].suffix, rest)
    elif unsized or rest != 0:
        raise MetadataError(f"Expected parts whose sizes add up to {part.size} bytes, found {[p.size for p in parts]}")
    return divided


def _check_part_keys(parts: Sequence[Part], keys: ChunkKeys, rank: int) -> None:
    """Refuse parts that could share a key, or could have the key of a metadata document."""
    samples = []
    for coordinate in (0, 1):
        try:
            samples.append(keys.encode([coordinate] * rank))
        except MetadataError:  # A dimension without a placeholder, or an encoding that counts down.
            continue
    for i, part in enumerate(parts):
        for key in samples:
            check_key(key + part.suffix)
        for other in parts[:i]:
            longer, shorter = sorted((part.suffix, other.suffix), key=len, reverse=True)
            if not longer.endswith(shorter):
                continue
            rest = longer[: len(longer) - len(shorter)]
            if any(keys.decode(key + rest) is not None for key in samples):
                raise MetadataError(f"Two chunks could share a part key, with the suffixes {longer!r} and {shorter!r}")


def _shard_index(codecs: object, chunk_shape: tuple[int, ...] | None) -> ShardIndex | None:
    last = codecs[-1] if isinstance(codecs, list) and codecs else None
    if chunk_shape is None or not isinstance(last, dict) or last.get("name") != "sharding_indexed":
        return None
    sharding = last.get("configuration", {})
    index_codecs, inner = sharding.get("index_codecs", []), sharding.get("chunk_shape")
    names = [codec.get("name") if isinstance(codec, dict) else codec for codec in index_codecs]
    if names not in (["bytes"], ["bytes", "crc32c"]) or "big" in str(index_codecs):
        return None
    if not isinstance(inner, list) or not all(is_whole(n, 1) for n in inner):
        return None
    size = prod(chunk_shape) // prod(inner) * 16 + (4 if "crc32c" in names else 0)
    return ShardIndex(size, sharding.get("index_location", "end") == "start")
