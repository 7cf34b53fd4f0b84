"""Whatever is given to the commands that read files: words and a documented code, never a stack trace."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.api.app import listen
from controlplane.bootstrap import documents
from controlplane.cli import main
from controlplane.cli.context import load_settings
from controlplane.kernel.errors import InvalidDocuments, InvalidInput, Unavailable
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, several times a test

READERS = {
    "validate": ["validate"],
    "apply": ["apply"],
    "lint": ["playbook", "lint"],
    "fmt": ["playbook", "fmt"],
    "test": ["playbook", "test"],
    "import": ["slo", "import"],
    "rules": ["slo", "rules"],
    "backtest": ["backtest", "--prometheus", "http://127.0.0.1:1"],
}
GOOD = "apiVersion: fleetward.dev/v1\nkind: Playbok\nmetadata: {name: a}\nspec: {}\n"


@pytest.mark.parametrize("content", [b"\x80\x81\x82", b"\xff\xfea\x00", b"- " * 2000, b"a: \x00", b"- 1"])
def test_a_file_that_holds_no_document_is_said_to_be_wrong(
    fleetward: Fleetward, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    for command, words in READERS.items():
        if command == "fmt" and content == b"- 1":
            continue  # any YAML has a layout
        done = fleetward(*words, file)
        assert (command, done.code) == (command, 1)
        assert done.error is None or isinstance(done.error, InvalidDocuments)
        assert "recursion" not in done.text + str(done.error)
        assert file.read_bytes() == content


def test_nothing_to_look_at_is_not_good(fleetward: Fleetward, tmp_path: Path) -> None:
    for command, words in READERS.items():
        done = fleetward(*words, tmp_path)
        wanted = 1 if command == "rules" else 2
        assert (command, wanted) == (command, 2 if isinstance(done.error, InvalidInput) else done.code)


def test_one_file_that_cannot_be_read_hides_no_mistake_of_the_others(
    fleetward: Fleetward, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\x80")
    (tmp_path / "b.yaml").write_text(GOOD)
    (tmp_path / "c.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "d.yaml")
    done = fleetward("validate", tmp_path, "-o", "json")
    assert [(Path(each["file"]).name, each["message"]) for each in done.json()] == [
        ("a.yaml", "it cannot be read as text: it is not UTF-8 at byte 0"),
        ("b.yaml", "unknown kind `Playbok`"),
        ("c.yaml", "it cannot be read as text: No such file or directory"),
        ("d.yaml", "it cannot be read as text: it is no regular file"),
    ]


def test_a_mounted_config_map_holds_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "..2026_01_01").mkdir()
    (tmp_path / "..2026_01_01" / "a.yaml").write_text(GOOD)
    (tmp_path / "..data").symlink_to("..2026_01_01")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "b.yaml").write_text(GOOD)
    assert documents.read_files([tmp_path]) == ([(str(tmp_path / "a.yaml"), GOOD)], [])


def test_a_folder_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(folder: Path, onerror: Callable[[OSError], None]) -> list[object]:
        onerror(PermissionError(13, "Permission denied", str(folder / "secret")))
        return []

    monkeypatch.setattr(os, "walk", walk)
    found, problems = documents.read_files([tmp_path])
    assert found == []
    assert [str(each.file) for each in problems] == [str(tmp_path / "secret")]
    assert "Permission denied" in problems[0].message


def test_a_file_without_an_end_is_read_as_far_as_a_file_may_be_long() -> None:
    bundle = documents.load_files([Path("/dev/zero")])
    assert [each.message for each in bundle.problems] == ["the file is over 1 MiB"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TICK_SECONDS", "nan"),
        ("TICK_SECONDS", "inf"),
        ("TICK_SECONDS", "soon"),
        ("LAG_SECONDS", "nan"),
        ("LEASE_SECONDS", "1e999"),
        ("API_PORT", "999999"),
        ("PROMETHEUS_URL", "prometheus:9090"),
        ("PLATFORM_URL", "ftp://lab"),
        ("ALERTMANAGER_URL", "nowhere"),
    ],
)
def test_a_setting_that_cannot_be_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"FLEETWARD_{name}", value)
    with pytest.raises(InvalidInput, match=f"FLEETWARD_{name} is set to what it cannot be"):
        load_settings(None)


def test_a_port_that_is_taken_is_said_before_anything_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port}: address already in use"):
            listen("127.0.0.1", port)
    with pytest.raises(Unavailable, match="cannot listen at"):
        listen("203.0.113.5", 0)


@pytest.mark.parametrize(
    "argv", [["runs", "list"], ["halt", "--reason", "x"], ["schema", "all", "-o", "{file}/x"]]
)
def test_a_place_where_nothing_can_be_written_is_told_and_is_wrong_use(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setenv("FLEETWARD_STATE_DIR", str(file))
    monkeypatch.setattr(sys, "argv", ["fleetward", *(each.format(file=file) for each in argv)])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 2
    assert str(file) in capsys.readouterr().err.replace("\n", "")
