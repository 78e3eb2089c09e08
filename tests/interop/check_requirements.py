"""Fails with a line about what of `requirements.txt` this Python lacks."""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

requirements = Path(__file__).parent / "requirements.txt"
for line in requirements.read_text("utf-8").splitlines():
    name, _, pinned = line.partition("==")
    if pinned:
        try:
            found = version(name)
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed")
        if found != pinned:
            sys.exit(f"{name} is {found}, and not {pinned}")
