"""Prompts: exact lengths, shared beginnings, one right answer each."""

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from chaos.lab import answers
from chaos.lab.traffic import prompts
from chaos.lab.traffic.prompts import SYSTEM_PROMPTS, Prompts
from controlplane.model.documents import load_bundle
from controlplane.model.service import Service

SERVICE = Path(prompts.__file__).parents[1] / "fleet" / "service.yaml"


@given(index=st.integers(0, 10**6), tokens=st.integers(2, 2000))
def test_a_prompt_has_exactly_the_tokens_planned(index: int, tokens: int) -> None:
    prompt = Prompts(1).prompt(index, tokens)

    assert len(answers.prompt_tokens(answers.chat_prompt(prompt))) == tokens


def test_one_seed_and_index_make_one_prompt() -> None:
    assert Prompts(1).prompt(17, 300) == Prompts(1).prompt(17, 300)
    assert Prompts(1).prompt(17, 300) != Prompts(1).prompt(18, 300)
    assert Prompts(1).prompt(17, 300) != Prompts(2).prompt(17, 300)


def test_many_prompts_share_few_beginnings_and_no_user_text() -> None:
    prompts = [Prompts(1).prompt(index, 400) for index in range(300)]

    assert len({prompt.system for prompt in prompts}) == 8
    assert Counter(prompt.system for prompt in prompts).most_common(1)[0][1] > 80
    assert len({prompt.user for prompt in prompts}) == 300


def test_the_answer_is_what_the_engines_would_say() -> None:
    prompt = Prompts(1).prompt(3, 50)

    assert prompt.answer(20) == answers.answer_text(f"{prompt.system}\n{prompt.user}", 20)


def test_the_labs_service_names_the_system_prompts_that_most_users_begin_with() -> None:
    bundle = load_bundle([("service.yaml", SERVICE.read_text(encoding="utf-8"))]).raise_problems()
    (service,) = bundle.of("Service").values()
    assert isinstance(service, Service)
    assert service.prompts == list(SYSTEM_PROMPTS[:4])
    begun = [Prompts(7).prompt(index, 400).system in service.prompts for index in range(300)]
    assert sum(begun) / len(begun) > 0.7
