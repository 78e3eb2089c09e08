"""Fails with a message if this Python lacks a package of `requirements.txt`."""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    from packaging.requirements import Requirement
except ImportError:
    sys.exit("packaging is not installed")

requirements = Path(__file__).parent / "requirements.txt"
for line in requirements.read_text("utf-8").splitlines():
    if line.startswith("#"):
        continue
    requirement = Requirement(line)
    if requirement.marker is not None and not requirement.marker.evaluate():
        continue
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        sys.exit(f"{requirement.name} is not installed")
    if found not in requirement.specifier:
        sys.exit(f"{requirement.name} is {found}, and not {requirement.specifier}")
