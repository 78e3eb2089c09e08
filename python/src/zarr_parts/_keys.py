"""Chunk key encodings: `default`, `v2`, `suffix`, `template` and `fanout`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from zarr_parts._errors import MetadataError
from zarr_parts._json import GREATEST, extension, is_whole, members

MOST_NESTED = 32
LONGEST_SUFFIX = 1024
WIDEST = 255


class ChunkKeys(Protocol):
    """The keys of the chunks of one array, relative to the array."""

    def encode(self, coordinates: Sequence[int]) -> str:
        """Return the key of a chunk.

        Raises
        ------
        MetadataError
            If the encoding has no key for the coordinates.
        """

    def decode(self, key: str) -> tuple[int, ...] | None:
        """Return the coordinates of a key, which is not checked to be the one that `encode` gives."""


def decode_exactly(keys: ChunkKeys, key: str, rank: int) -> tuple[int, ...] | None:
    """Return the coordinates of the chunk with a key, or `None` for any other key."""
    coordinates = keys.decode(key)
    if coordinates is None or len(coordinates) != rank or any(c > GREATEST for c in coordinates):
        return None
    try:
        return coordinates if keys.encode(coordinates) == key else None
    except MetadataError:
        return None


def parse_chunk_keys(metadata: object, rank: int, depth: int = 1) -> ChunkKeys:
    """Parse the `chunk_key_encoding` of an array.

    Parameters
    ----------
    metadata
        The name, or an object with the name and a configuration.
    rank
        The number of dimensions of the array.
    depth
        The number of encodings around this one, and this one.

    Raises
    ------
    MetadataError
        If the encoding is not known or not valid.
    """
    if depth > MOST_NESTED:
        raise MetadataError(f"Expected at most {MOST_NESTED} nested chunk key encodings, found more")
    name, configuration, must_understand = extension(metadata, "chunk key encoding")
    if not must_understand:
        raise MetadataError('"must_understand" is false on a chunk key encoding, on which all chunk keys depend')
    what = f'the configuration of "{name}"'
    if name in ("default", "v2"):
        separator = members(configuration, what, optional=["separator"]).get(
            "separator", "/" if name == "default" else "."
        )
        if separator not in ("/", "."):
            raise MetadataError(f'Expected the separator "/" or ".", found {separator!r}')
        return Joined(rank, str(separator), "c" if name == "default" else "")
    if name == "suffix":
        found = members(configuration, what, ["suffix"], ["base_encoding", "base-encoding"])
        if "base_encoding" in found and "base-encoding" in found:
            raise MetadataError('Expected "base_encoding" alone, found "base-encoding" too')
        base = found.get("base_encoding", found.get("base-encoding", "default"))
        return Suffixed(parse_chunk_keys(base, rank, depth + 1), check_suffix(found["suffix"], "suffix"))
    if name == "template":
        found = members(configuration, what, optional=["format", "template", "separator"])
        if ("format" in found) == ("template" in found):
            raise MetadataError('Expected "format" or "template" in the configuration of "template", found both or none')
        template, between = found.get("format", found.get("template")), found.get("separator")
        if not isinstance(template, str) or not isinstance(between, str | None):
            raise MetadataError("Expected a format and a separator, strings")
        return parse_template(template, between, rank)
    if name == "fanout":
        children = members(configuration, what, optional=["max_children"]).get("max_children", 1000)
        if not is_whole(children, 100):
            raise MetadataError(f"Expected max_children, a whole number from 100, found {children!r}")
        return Fanout(rank, len(str(children)) - 1)
    known = ", ".join(["default", "v2", "suffix", "template", "fanout"])
    raise MetadataError(f"Unknown chunk key encoding {name!r}; known are {known}")


def check_suffix(suffix: object, what: str) -> str:
    """Check a suffix of chunk keys or part keys."""
    if not isinstance(suffix, str) or len(suffix) > LONGEST_SUFFIX:
        raise MetadataError(f"Expected a {what} of at most {LONGEST_SUFFIX} characters, found {suffix!r}")
    check_key("c" + suffix)
    return suffix


_FORBIDDEN = re.compile(r"[\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DOCUMENT = re.compile(r"(?:^|/)(?:zarr\.json|\.z(?:array|group|attrs|metadata))\Z")


def check_key(key: str) -> None:
    """Refuse the key of a chunk or part that could leave the array's folder, or be that of a document."""
    if any(name in ("", ".", "..") for name in key.split("/")) or _FORBIDDEN.search(key):
        raise MetadataError(f'The key {key!r} holds an empty, "." or ".." name, or a forbidden character')
    if _DOCUMENT.search(key):
        raise MetadataError(f"The key {key!r} is that of a metadata document")


@dataclass(frozen=True)
class Joined:
    """The encodings `default` and `v2`: coordinates with a separator between them."""

    rank: int
    separator: str
    first: str

    def encode(self, coordinates: Sequence[int]) -> str:
        names = [self.first] if self.first else []
        return self.separator.join([*names, *map(str, coordinates)]) or "0"

    def decode(self, key: str) -> tuple[int, ...] | None:
        if self.rank == 0:
            return ()
        names = key.split(self.separator)
        return whole_numbers(names[1:] if self.first else names)


@dataclass(frozen=True)
class Suffixed:
    """The encoding `suffix`: a text behind the keys of another encoding."""

    base: ChunkKeys
    suffix: str

    def encode(self, coordinates: Sequence[int]) -> str:
        return self.base.encode(coordinates) + self.suffix

    def decode(self, key: str) -> tuple[int, ...] | None:
        return self.base.decode(key.removesuffix(self.suffix))


@dataclass(frozen=True)
class Fanout:
    """The encoding `fanout`: the digits of a coordinate are split into names of equal length."""

    rank: int
    digits: int

    def encode(self, coordinates: Sequence[int]) -> str:
        names = ["c"]
        for coordinate in coordinates:
            count = -(-len(str(coordinate)) // self.digits)
            text = str(coordinate).zfill(count * self.digits)
            names += [str(count - 1), *(text[i : i + self.digits] for i in range(0, len(text), self.digits))]
        return "/".join(names)

    def decode(self, key: str) -> tuple[int, ...] | None:
        numbers = whole_numbers(names := key.split("/")[1:])
        if numbers is None:
            return None
        coordinates, at = [], 0
        while at < len(names):
            end = at + numbers[at] + 2
            coordinates.append(int("".join(names[at + 1 : end]) or "0"))
            at = end
        return tuple(coordinates)


@dataclass(frozen=True)
class Field:
    """The digits of one coordinate in keys of the encoding `template`."""

    text: str
    dimension: int
    step: int
    first: int
    width: int
    is_fixed: bool


@dataclass(frozen=True)
class Template:
    """The encoding `template`: keys by a format with a placeholder for each dimension."""

    rank: int
    texts: tuple[str, ...]
    fields: tuple[Field, ...]

    def encode(self, coordinates: Sequence[int]) -> str:
        numbered = {field.dimension for field in self.fields}
        if any(coordinate and i not in numbered for i, coordinate in enumerate(coordinates)):
            raise MetadataError(f"The format has no placeholder for a dimension with several chunks: {coordinates}")
        key = self.texts[0]
        for field, text in zip(self.fields, self.texts[1:], strict=True):
            number = field.first + field.step * coordinates[field.dimension]
            digits = str(number).zfill(field.width)
            if not 0 <= number <= GREATEST or (field.is_fixed and len(digits) > field.width):
                raise MetadataError(f"The chunk at {tuple(coordinates)} has no key by {field.text}")
            key += digits + text
        return key

    def decode(self, key: str) -> tuple[int, ...] | None:
        pattern = re.escape(self.texts[0])
        for field, text in zip(self.fields, self.texts[1:], strict=True):
            pattern += f"([0-9]{{{field.width}}})" if field.is_fixed else "([0-9]{1,255})"
            pattern += re.escape(text)
        match = re.fullmatch(pattern, key)
        if match is None:
            return None
        coordinates = [0] * self.rank
        for field, digits in zip(self.fields, match.groups(), strict=True):
            coordinates[field.dimension] = max((int(digits) - field.first) // field.step, 0)
        return tuple(coordinates)


_TOKEN = re.compile(
    r"\{\{|\}\}|\{(\*|0|-?[1-9][0-9]*)(?:\*(-?[1-9][0-9]*))?(?:\+(0|[1-9][0-9]*))?(?::0([1-9][0-9]*))?\}|[{}]|[^{}]+"
)


def parse_template(template: str, separator: str | None, rank: int) -> Template:
    """Parse the format of the encoding `template` for arrays of one rank."""

    def refuse(problem: str) -> MetadataError:
        return MetadataError(f"Format {template!r} {problem}")

    if len(template) > LONGEST_SUFFIX:
        raise refuse(f"is longer than {LONGEST_SUFFIX} characters")
    texts, found = [""], list[re.Match[str]]()
    for token in _TOKEN.finditer(template):
        if token[1] is not None:
            found.append(token)
            texts.append("")
        elif token[0] in ("{", "}"):
            raise refuse(f"holds a single {token[0]!r}")
        else:
            texts[-1] += token[0][0] if token[0] in ("{{", "}}") else token[0]
    if not found:
        raise refuse('has no placeholder; expected one such as "{0}"')
    if any(text in part for part in texts for text in ("..", "zarr.json")):
        raise refuse('holds ".." or "zarr.json"')
    if any(int(token[4] or 0) > WIDEST for token in found):
        raise refuse(f"pads to more than {WIDEST} digits")
    if any(abs(int(number or 0)) > GREATEST for token in found for number in token.groups()[1:3]):
        raise refuse(f"counts beyond {GREATEST}")
    indices = [token[1] for token in found]
    named = [int(index) % rank if -rank <= int(index) < rank else -1 for index in indices if index != "*"]
    if -1 in named or len(set(named)) < len(named) or indices.count("*") > 1:
        raise refuse(f"names a dimension twice, or one that an array of rank {rank} does not have")
    others = [dimension for dimension in range(rank) if dimension not in named]
    if "*" in indices:
        if not others:
            raise refuse("has {*} and a placeholder for each dimension")
        if separator is None or not re.search("[^0-9]", separator):
            raise refuse("has {*}, which needs a separator of which one character is not a digit")
        at = indices.index("*")
        texts[at + 1 : at + 1] = [separator] * (len(others) - 1)
        found[at : at + 1] = [found[at]] * len(others)
        named[at:at] = others
    widths = [int(token[4] or 0) for token in found]
    is_beside = [a == "" for a in ("/", *texts[1:-1], "/")]  # Before each field, and behind the last.
    fields = [
        Field(token[0], dimension, int(token[2] or 1), int(token[3] or 0), width, width > 0 and any(sides))
        for token, dimension, width, sides in zip(found, named, widths, pairwise(is_beside), strict=True)
    ]
    _check_distinct(fields, texts, refuse)
    keys = Template(rank, tuple(texts), tuple(fields))
    check_key(keys.encode([0] * rank))
    return keys


def _check_distinct(fields: list[Field], texts: list[str], refuse: object) -> None:
    """Refuse numbers side by side whose digits could not be told apart."""
    unpadded = 0
    for i, field in enumerate(fields):
        between = texts[i] if i else "/"
        unpadded = (unpadded if between == "" else 0) + (field.width == 0)
        if between.isdigit() or unpadded > 1:
            assert callable(refuse)
            raise refuse(f"could give two chunks one key, since {field.text} follows other digits directly")


def whole_numbers(names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the numbers that texts are, or `None` if one is none."""
    return tuple(map(int, names)) if all(re.fullmatch("[0-9]{1,255}", name) for name in names) else None
