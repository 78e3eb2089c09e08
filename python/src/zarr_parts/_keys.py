"""Chunk key encodings: `default`, `v2`, `suffix`, `template` and `fanout`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from zarr_parts._errors import MetadataError
from zarr_parts._json import GREATEST, extension, is_whole, members

MOST_NESTED = 32
LONGEST = 1024
"""The greatest length of a suffix or a format."""


@dataclass(frozen=True)
class Field:
    """The digits of one coordinate in a key.

    Attributes
    ----------
    dimension
        The dimension that is counted.
    step, first
        The number in the key is `first + step * coordinate`.
    width
        The least number of digits.
    is_fixed
        Whether there may not be more digits.
    fanout
        The digits of each folder name in the encoding `fanout`; 0 in others.
    """

    dimension: int
    step: int = 1
    first: int = 0
    width: int = 0
    is_fixed: bool = False
    fanout: int = 0

    def encode(self, coordinate: int) -> str:
        number = self.first + self.step * coordinate
        digits = str(number).zfill(self.width)
        if not 0 <= number <= GREATEST or (self.is_fixed and len(digits) > self.width):
            raise MetadataError(f"The coordinate {coordinate} of dimension {self.dimension} has no digits in keys")
        if not self.fanout:
            return digits
        count = -(-len(digits) // self.fanout)
        digits = digits.zfill(count * self.fanout)
        return "/".join([str(count - 1), *(digits[i : i + self.fanout] for i in range(0, len(digits), self.fanout))])

    def decode(self, digits: str) -> int:
        if self.fanout:
            digits = digits.split("/", 1)[1].replace("/", "")
        return max((int(digits) - self.first) // self.step, 0)

    @property
    def pattern(self) -> str:
        if self.fanout:
            return f"([0-9]{{1,2}}(?:/[0-9]{{{self.fanout}}})+)"
        return f"([0-9]{{{self.width}}})" if self.is_fixed else "([0-9]{1,255})"


class ChunkKeys:
    """The keys of the chunks of one array, relative to the array: texts, and digits of coordinates."""

    def __init__(self, rank: int, pieces: Sequence[str | Field]) -> None:
        self.rank = rank
        self._pieces = pieces
        self._fields = [piece for piece in pieces if isinstance(piece, Field)]
        self._uncounted = [i for i in range(rank) if i not in {field.dimension for field in self._fields}]
        self._pattern = re.compile("".join(re.escape(p) if isinstance(p, str) else p.pattern for p in pieces))

    def encode(self, coordinates: Sequence[int]) -> str:
        """Return the key of a chunk, or raise a `MetadataError` for a chunk that has no key."""
        if any(coordinates[i] for i in self._uncounted):
            raise MetadataError(f"The format has no placeholder for a dimension with several chunks: {coordinates}")
        return "".join(p if isinstance(p, str) else p.encode(coordinates[p.dimension]) for p in self._pieces)

    def decode(self, key: str) -> tuple[int, ...] | None:
        """Return the coordinates of the chunk with a key, or `None` for any other key, such as one with zeros before digits."""
        match = self._pattern.fullmatch(key)
        if match is None:
            return None
        coordinates = [0] * self.rank
        for field, digits in zip(self._fields, match.groups(), strict=True):
            coordinates[field.dimension] = field.decode(digits)
        try:
            return tuple(coordinates) if self.encode(coordinates) == key else None
        except MetadataError:
            return None


def parse_chunk_keys(metadata: object, rank: int) -> ChunkKeys:
    """Parse the `chunk_key_encoding` of an array with `rank` dimensions.

    Raises
    ------
    MetadataError
        If the encoding is not known or not valid.
    """
    return ChunkKeys(rank, _parse(metadata, rank, 1))


def _parse(metadata: object, rank: int, depth: int) -> list[str | Field]:
    if depth > MOST_NESTED:
        raise MetadataError(f"Expected at most {MOST_NESTED} nested chunk key encodings, found more")
    name, configuration, must_understand = extension(metadata, "chunk key encoding")
    if not must_understand:
        raise MetadataError('"must_understand" is false on a chunk key encoding, on which all chunk keys depend')
    what = f'the configuration of "{name}"'
    fields = [Field(dimension) for dimension in range(rank)]
    if name in ("default", "v2"):
        usual = "/" if name == "default" else "."
        separator = members(configuration, what, optional=["separator"]).get("separator", usual)
        if separator not in ("/", "."):
            raise MetadataError(f'Expected the separator "/" or ".", found {separator!r}')
        return _joined(str(separator), ["c", *fields] if name == "default" else fields or ["0"])
    if name == "suffix":
        found = members(configuration, what, ["suffix"], ["base_encoding", "base-encoding"])
        if "base_encoding" in found and "base-encoding" in found:
            raise MetadataError('Expected "base_encoding" alone, found "base-encoding" too')
        base = found.get("base_encoding", found.get("base-encoding", "default"))
        return [*_parse(base, rank, depth + 1), check_suffix(found["suffix"], "suffix")]
    if name == "template":
        found = members(configuration, what, optional=["format", "template", "separator"])
        if ("format" in found) == ("template" in found):
            raise MetadataError('Expected "format" or "template" in the configuration of "template", found both or none')
        template, between = found.get("format", found.get("template")), found.get("separator")
        if not isinstance(template, str) or not isinstance(between, str | None):
            raise MetadataError("Expected a format and a separator, strings")
        return _parse_template(template, between, rank)
    if name == "fanout":
        children = members(configuration, what, optional=["max_children"]).get("max_children", 1000)
        if not is_whole(children, 100):
            raise MetadataError(f"Expected max_children, a whole number from 100, found {children!r}")
        digits = len(str(children)) - 1
        return _joined("/", ["c", *(Field(dimension, fanout=digits) for dimension in range(rank))])
    known = "default, v2, suffix, template, fanout"
    raise MetadataError(f"Unknown chunk key encoding {name!r}; known are {known}")


def _joined(separator: str, pieces: Sequence[str | Field]) -> list[str | Field]:
    return [piece for after in pieces for piece in (separator, after)][1:]


def check_suffix(suffix: object, what: str) -> str:
    """Check a suffix of chunk keys or part keys."""
    if not isinstance(suffix, str) or len(suffix) > LONGEST:
        raise MetadataError(f"Expected a {what} of at most {LONGEST} characters, found {suffix!r}")
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


_TOKEN = re.compile(
    r"\{\{|\}\}|\{(\*|0|-?[1-9][0-9]*)(?:\*(-?[1-9][0-9]*))?(?:\+(0|[1-9][0-9]*))?(?::0([1-9][0-9]*))?\}|[{}]|[^{}]+"
)


def _parse_template(template: str, separator: str | None, rank: int) -> list[str | Field]:
    """Parse the format of the encoding `template` into texts, between which there are fields."""

    def refuse(problem: str) -> MetadataError:
        return MetadataError(f"Format {template!r} {problem}")

    if len(template) > LONGEST:
        raise refuse(f"is longer than {LONGEST} characters")
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
    if any(int(token[4] or 0) > 255 or abs(int(n or 0)) > GREATEST for token in found for n in token.groups()[1:3]):
        raise refuse(f"pads to more than 255 digits, or counts beyond {GREATEST}")
    indices = [token[1] for token in found]
    named = [int(index) % rank if -rank <= int(index) < rank else -1 for index in indices if index != "*"]
    if -1 in named or len(set(named)) < len(named) or indices.count("*") > 1:
        raise refuse(f"names a dimension twice, or one that an array of rank {rank} does not have")
    if "*" in indices:
        others = [dimension for dimension in range(rank) if dimension not in named]
        if not others:
            raise refuse("has {*} and a placeholder for each dimension")
        if separator is None or not re.search("[^0-9]", separator):
            raise refuse("has {*}, which needs a separator of which one character is not a digit")
        at = indices.index("*")
        texts[at + 1 : at + 1] = [separator] * (len(others) - 1)
        found[at : at + 1] = [found[at]] * len(others)
        named[at:at] = others
    widths = [int(token[4] or 0) for token in found]
    unpadded = 0  # Among the fields that follow each other directly.
    for token, width, before in zip(found, widths, ["/", *texts[1:-1]], strict=True):
        unpadded = (unpadded if before == "" else 0) + (width == 0)
        if before.isdigit() or unpadded > 1:
            raise refuse(f"could give two chunks one key, since {token[0]} follows other digits directly")
    pieces: list[str | Field] = [texts[0]]
    for i, (token, dimension, width, text) in enumerate(zip(found, named, widths, texts[1:], strict=True)):
        is_beside = (i > 0 and texts[i] == "") or (i < len(found) - 1 and text == "")
        field = Field(dimension, int(token[2] or 1), int(token[3] or 0), width, is_fixed=width > 0 and is_beside)
        pieces += [field, text]
    check_key(ChunkKeys(rank, pieces).encode([0] * rank))
    return pieces
