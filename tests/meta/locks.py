"""What a lock file must say, read from its text."""

import json
import re
from collections.abc import Iterator
from typing import Any

_REQUIREMENT = re.compile(r"^([a-z0-9._-]+)==([^\s;]+)(.*?)(?=^[a-z0-9]|\Z)", re.MULTILINE | re.DOTALL)


def pinned(requirements: str) -> dict[str, int]:
    """Map each package of a requirements lock to the number of its hashes."""
    return {name: rest.count("--hash=sha256:") for name, _, rest in _REQUIREMENT.findall(requirements)}


def unpinned(requirements: str) -> list[str]:
    """Return the lines of a requirements lock that are neither a pin, nor its hash, nor a comment."""
    lines = (line.strip() for line in requirements.splitlines())
    return [line for line in lines if line and not re.match(r"#|--hash=sha256:|[a-z0-9._-]+==\S+", line)]


def canonical(requirement: str) -> str:
    """Return the name in a requirement as locks spell it: ``ruamel.yaml>=0.18`` → ``ruamel-yaml``."""
    name = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def npm_breaks(package_lock: str) -> Iterator[str]:
    """Yield what is wrong in an npm lock: an address of a download, or a package without its hash."""
    packages: dict[str, dict[str, Any]] = json.loads(package_lock)["packages"]
    for name, entry in packages.items():
        if "resolved" in entry and not entry.get("link"):
            yield f"{name}: resolved"
        if name and not (entry.get("integrity") or entry.get("link") or entry.get("inBundle")):
            yield f"{name}: no integrity"
