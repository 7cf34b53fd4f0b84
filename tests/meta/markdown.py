"""What a page of Markdown promises: YAML that loads, and links that lead somewhere."""

import re
from pathlib import PurePosixPath

from controlplane.model.documents import load_bundle

_YAML = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def documents(text: str) -> list[str]:
    """Return the YAML blocks that are whole documents of ours; an excerpt has no ``apiVersion``."""
    return [block for block in _YAML.findall(text) if re.search(r"^apiVersion:", block, re.MULTILINE)]


def problems(page: str, text: str) -> list[str]:
    """Return what is wrong with the YAML documents of a page."""
    named = ((f"{page}#{number}", block) for number, block in enumerate(documents(text), 1))
    return [str(problem) for name, block in named for problem in load_bundle([(name, block)]).problems]


def local_links(page: str, text: str) -> list[str]:
    """Return the files that a page links to, as paths from the root."""
    folder = PurePosixPath(page).parent
    return [_normal(folder / link) for link in _LINK.findall(text) if not re.match(r"[a-z]+:", link)]


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
