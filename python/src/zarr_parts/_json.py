"""Checks of metadata, and JSON that keeps numbers as they are written."""

import json
import re
from collections.abc import Callable, Mapping, Sequence

from zarr_parts._errors import MetadataError

GREATEST = 2**53 - 1
"""The greatest coordinate and size."""

_MARK = "\uf8ff-"
_MARKED = re.compile(f'"{_MARK}([^"]*)"')


def rewrite_json(data: bytes, change: Callable[[object], bool]) -> bytes:
    """Change a JSON document in place, and keep numbers as they are written.

    Parameters
    ----------
    data
        The document.
    change
        Changes what is in the document, and returns whether anything was changed.
    """
    document = json.loads(
        data,
        parse_float=lambda text: _MARK + text,
        parse_int=lambda text: f"{_MARK}-0.0" if text == "-0" else int(text),
        parse_constant=str,
    )
    if not change(document):
        return data
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return f"{_MARKED.sub(r'\1', text)}\n".encode()


def extension(metadata: object, what: str) -> tuple[str, object, bool]:
    """Return the name, the configuration and `must_understand` of an extension point."""
    if isinstance(metadata, str):
        return metadata, {}, True
    found = members(metadata, f"a {what}", ["name"], ["configuration", "must_understand"])
    name, must_understand = found["name"], found.get("must_understand", True)
    if not isinstance(name, str) or not isinstance(must_understand, bool):
        raise MetadataError(f"Expected the name of a {what}, found {metadata!r}")
    return name, found.get("configuration", {}), must_understand


def members(
    value: object, what: str, required: Sequence[str] = (), optional: Sequence[str] = ()
) -> Mapping[str, object]:
    """Return the members of an object, of which all required and no unknown ones must be there."""
    if not isinstance(value, dict):
        raise MetadataError(f"Expected {what}, an object, found {value!r}")
    if wrong := [name for name in value if name not in required and name not in optional]:
        raise MetadataError(f"Unknown member {wrong[0]!r} in {what}; known are {', '.join([*required, *optional])}")
    if missing := [name for name in required if name not in value]:
        raise MetadataError(f"Expected the member {missing[0]!r} in {what}, found {value!r}")
    return value


def is_whole(value: object, least: int = 0) -> bool:
    """Whether a value is a whole number that is not too great."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= GREATEST
