"""Fails with a message if this Python lacks a package of `requirements.txt`."""

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
