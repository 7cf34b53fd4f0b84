"""The import contracts hold, and each of them can break."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.tree import ROOT

# The contract, the module that breaks it, and the import by which it does.
BREAKS = {
    "layers": ("controlplane/model/a.py", "import controlplane.store"),
    "no-chaos": ("controlplane/act/a.py", "import chaos.lab"),
    "settings": ("controlplane/act/b.py", "import controlplane.settings"),
    "pure": ("controlplane/decide/a.py", "import sqlalchemy"),
    "chaos-doors": ("chaos/faults/a.py", "from controlplane.decide import a"),
    "lab": ("chaos/lab/a.py", "import controlplane.act"),
    "judges": ("chaos/drills/verdict.py", "import chaos.faults.a"),
    "carrier": ("controlplane/api/a.py", "import redis"),
    "store": ("chaos/drills/ledger.py", "from sqlalchemy import select"),
    "observe": ("controlplane/act/c.py", "import prometheus_api_client"),
    "kubernetes": ("chaos/drivers/lab.py", "import kubernetes"),
}

KEEPS = {
    "controlplane/cli/a.py": "import controlplane.settings.a\nimport controlplane.api.a",
    "controlplane/bootstrap.py": "import controlplane.settings\nimport controlplane.store",
    "controlplane/carrier/a.py": "import celery, redis",
    "controlplane/store/a.py": "import sqlalchemy, alembic\nimport controlplane.model",
    "controlplane/observe/a.py": "import prometheus_api_client",
    "controlplane/platforms/kubernetes/a.py": "import kubernetes",
    "chaos/drivers/kubernetes.py": "import kubernetes",
    "chaos/drills/feeds.py": "import httpx\nfrom controlplane.kernel import a",
    "chaos/drills/verdict.py": "import controlplane.model, chaos.drills.probes",
    "chaos/drills/run.py": "import controlplane.act, controlplane.store.a, chaos.lab.a",
    "chaos/lab/a.py": "import aiohttp\nfrom controlplane.model import a",
}

PACKAGES = {
    "controlplane": (
        "bench", "cli", "rehearsal", "backtest", "api", "controller", "worker", "act", "actions", "decide",
        "observe", "platforms", "platforms/kubernetes", "store", "notify", "carrier", "settings", "model",
        "kernel",
    ),
    "chaos": ("lab", "drills", "faults", "drivers"),
}  # fmt: skip


def contracts() -> configparser.ConfigParser:
    """Return the project's contracts."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", "utf-8")
    return parser


def lint_imports(folder: Path) -> str:
    """Return what import-linter says of the tree in ``folder``."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as c; c()",
        "--no-cache",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def plant(folder: Path, modules: dict[str, str]) -> Path:
    """Write a tree with every package that the contracts name, and the given modules."""
    for root, packages in PACKAGES.items():
        (folder / root).mkdir()
        (folder / root / "__init__.py").touch()
        for package in packages:
            (folder / root / package).mkdir()
            (folder / root / package / "__init__.py").touch()
            (folder / root / package / "a.py").touch()
    names = (
        "controlplane/bootstrap.py",
        *(f"chaos/drills/{name}.py" for name in ("feeds", "probes", "verdict")),
    )
    for name in names:
        (folder / name).touch()
    for name, text in modules.items():
        (folder / name).write_text(text, "utf-8")
    (folder / ".importlinter").write_text((ROOT / ".importlinter").read_text("utf-8"), "utf-8")
    return folder


def verdicts(output: str) -> dict[str, str]:
    """Map the names of contracts to KEPT or BROKEN."""
    return dict(re.findall(r"^(.+?) (KEPT|BROKEN)", output, re.MULTILINE))


def test_contracts_hold() -> None:
    found = verdicts(lint_imports(ROOT))
    assert len(found) == len(BREAKS)
    assert [name for name, verdict in found.items() if verdict != "KEPT"] == []


def test_each_contract_breaks_by_its_import(tmp_path: Path) -> None:
    found = verdicts(lint_imports(plant(tmp_path, dict(BREAKS.values()))))
    assert found == {contracts()[f"importlinter:contract:{name}"]["name"]: "BROKEN" for name in BREAKS}


def test_what_the_order_allows_breaks_nothing(tmp_path: Path) -> None:
    found = verdicts(lint_imports(plant(tmp_path, KEEPS)))
    assert found == {contracts()[f"importlinter:contract:{name}"]["name"]: "KEPT" for name in BREAKS}


def test_a_package_that_has_no_layer_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, {})
    (tmp_path / "controlplane/helpers.py").touch()
    assert "BROKEN" in verdicts(lint_imports(tmp_path)).values()


@pytest.fixture(autouse=True)
def _every_contract_has_its_break() -> None:
    sections = {name.rpartition(":")[2] for name in contracts().sections() if ":contract:" in name}
    assert sections == BREAKS.keys()
