"""Roles stand in one order, and one person is one person however they came in."""

from controlplane.model.identity import Role, same_person


def test_each_role_covers_itself_and_those_before_it() -> None:
    covered = {role: [other for other in Role if role.covers(other)] for role in Role}
    assert covered == {role: list(Role)[: index + 1] for index, role in enumerate(Role)}


def test_a_person_at_a_terminal_is_the_one_with_the_token() -> None:
    assert same_person("cli:ada", "ada")
    assert not same_person("cli:ada", "bob")
