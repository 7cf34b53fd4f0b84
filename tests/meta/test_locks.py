"""Every dependency is locked, pinned and hashed, and no lock says where it was downloaded from."""

import json
import tomllib

import pytest

from tests.meta import locks
from tests.meta.tree import ROOT

REQUIREMENTS = ["requirements.lock", "scripts/uv.lock", "scripts/node.lock"]


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_package_is_pinned_and_hashed(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert locks.unpinned(text) == []
    assert [package for package, hashes in locks.pinned(text).items() if not hashes] == []


def test_every_declared_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    declared = {
        locks.canonical(requirement)
        for group in (project["project"]["dependencies"], project["dependency-groups"]["dev"])
        for requirement in group
    }
    locked = locks.pinned((ROOT / "requirements.lock").read_text("utf-8"))
    assert declared - locked.keys() == set(), "run `make lock`"


def test_the_console_s_lock_has_hashes_and_no_addresses() -> None:
    assert list(locks.npm_breaks((ROOT / "web/package-lock.json").read_text("utf-8"))) == []


def test_npm_is_told_to_leave_addresses_out() -> None:
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "web/.npmrc").read_text("utf-8").splitlines()


def test_a_package_without_hash_is_found() -> None:
    assert locks.pinned("a==1 \\\n    --hash=sha256:00\n    # via b\nb==2\n") == {"a": 1, "b": 0}


def test_a_range_an_option_and_an_address_are_found() -> None:
    text = "a>=1\n--index-url x\nb @ file:c\nd==1\n"
    assert locks.unpinned(text) == ["a>=1", "--index-url x", "b @ file:c"]


def test_an_address_and_a_missing_hash_are_found_in_an_npm_lock() -> None:
    packages = {"": {}, "a": {"resolved": "x", "integrity": "y"}, "b": {}, "c": {"inBundle": True}}
    assert list(locks.npm_breaks(json.dumps({"packages": packages}))) == ["a: resolved", "b: no integrity"]


def test_names_are_compared_as_locks_spell_them() -> None:
    assert [locks.canonical(name) for name in ("ruamel.yaml>=0.18", "celery[redis]>=5", "Types_X")] == [
        "ruamel-yaml",
        "celery",
        "types-x",
    ]
