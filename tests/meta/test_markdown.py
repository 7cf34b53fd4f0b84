"""Every YAML document in the pages and every shipped file loads; every link leads to a file."""

import pytest

from controlplane.model.documents import load_bundle
from tests.meta import markdown
from tests.meta.tree import ROOT, texts

PAGES = [(path, text) for path, text in texts() if path.endswith(".md")]
FOLDERS = ("playbooks/", "chaos/", "controlplane/")
SHIPPED = [
    (path, text)
    for path, text in texts()
    if path.startswith(FOLDERS) and path.endswith((".yaml", ".yml")) and "apiVersion:" in text
]


def test_every_shipped_file_loads() -> None:
    found = [str(problem) for file in SHIPPED for problem in load_bundle([file]).problems]
    assert found == [], "\n".join(found)


def test_every_document_in_a_page_loads() -> None:
    found = [problem for page, text in PAGES for problem in markdown.problems(page, text)]
    assert found == [], "\n".join(found)


def test_every_link_leads_to_a_file() -> None:
    links = [(page, link) for page, text in PAGES for link in markdown.local_links(page, text)]
    assert [f"{page} → {link}" for page, link in links if not (ROOT / link).exists()] == []


def test_there_is_something_to_look_at() -> None:
    assert "README.md" in dict(PAGES)
    assert markdown.documents(dict(PAGES)["README.md"]) != []
    assert SHIPPED != []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("```yaml\napiVersion: fleetward.dev/v1\nkind: Playbok\nmetadata: {name: a}\nspec: {}\n```\n", 1),
        ("```yaml\n- {uses: traffic.shift}\n```\n", 0),
        ("```sh\napiVersion: none\n```\n", 0),
    ],
)
def test_a_broken_document_is_found_and_an_excerpt_is_left_alone(text: str, count: int) -> None:
    assert len(markdown.problems("a.md", text)) == count


def test_a_link_is_resolved_from_its_page() -> None:
    text = "[a](../b/c.md#part) [d](https://example.com) ![e](f.png)"
    assert markdown.local_links("docs/x/page.md", text) == ["docs/b/c.md", "docs/x/f.png"]
