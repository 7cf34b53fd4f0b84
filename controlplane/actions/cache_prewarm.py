"""`cache.prewarm`: let replicas answer known prompts before users come, so that their caches hold them.

A replica that has just loaded computes every prompt from its first token. What most users begin
with, a shared system prompt, is then computed once and not by the first of them.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from controlplane.actions import replicas
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.ports import Engines
from controlplane.model.service import Prompt
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView

LOOK_EVERY = 1.0
"""Seconds between looks at a replica that is loading."""

Prompts = Annotated[tuple[Prompt, ...], Field(max_length=50)]


class PrewarmParameters(Model):
    """Parameters of `cache.prewarm`."""

    zone: str | None = Field(None, description="the zone whose replicas are prewarmed")
    replica: str | None = Field(None, description="or one replica's name, for example replica-a1-0")
    prompts: Prompts = Field(min_length=1, description="what each of them is asked, in this order")
    max_tokens: int = Field(1, ge=1, le=64, description="how long an answer may be; 1 fills the cache")

    @model_validator(mode="after")
    def _names_one_place(self) -> Self:
        if (self.zone is None) == (self.replica is None):
            msg = "write either `zone` or `replica`"
            raise ValueError(msg)
        return self


class CachePrewarm(Action[PrewarmParameters]):
    """Send prompts to a replica, or to each replica of a zone, past the load balancing.

    For replicas that have just loaded and get no users yet: isolated ones, or a zone of weight 0. One
    that is loading is waited for; the step's timeout bounds the wait. One that is stopped is left out.
    Prompts go one at a time to each engine, so users who are there already are hardly held up. Nothing
    is changed but caches, so nothing is undone; a prompt that is sent twice does no harm.

    ```yaml
    uses: cache.prewarm
    with:
      zone: zone-a
      prompts: ["You are a helpful assistant. Answer briefly and name your sources."]
    ```
    """

    name = "cache.prewarm"
    parameters = PrewarmParameters
    permissions = ("list core/pods", "create core/pods/proxy")
    outputs: ClassVar = {
        "replicas": "how many replicas were prewarmed",
        "prompts": "how many prompts were sent in all",
    }

    def touches(self, parameters: PrewarmParameters, context: ActionContext) -> list[Touch]:
        return [Touch(target, Dimension.NOTHING) for target, _ in _subjects(parameters, context)]

    def plan(self, parameters: PrewarmParameters, context: ActionContext) -> list[Change]:
        _subjects(parameters, context)
        return []

    def run(self, parameters: PrewarmParameters, context: ActionContext) -> Outcome:
        state: dict[str, Any] = dict(context.state)
        if "left" not in state:
            left = [str(target) for target, _ in _subjects(parameters, context)]
            state = {"left": left, "at": 0, "replicas": len(left), "prompts": 0}
        if not state["left"]:
            return Done({"replicas": state["replicas"], "prompts": state["prompts"]})
        view = replicas.view_of(Target.parse(state["left"][0]), context)
        if not view.ready:
            return Again(LOOK_EVERY, state, f"{view.name} is {view.state}")
        try:
            warm(view, parameters.prompts[state["at"]], parameters.max_tokens, context)
        except Unavailable as error:
            return Again(LOOK_EVERY, state, f"asking {view.name} again: {error}")
        after = {**state, "at": state["at"] + 1, "prompts": state["prompts"] + 1}
        if after["at"] == len(parameters.prompts):
            after = {**after, "at": 0, "left": state["left"][1:]}
        return Again(0.0, after, f"{view.name} has answered {state['at'] + 1} of {len(parameters.prompts)}")


def warm(view: ReplicaView, prompt: str, max_tokens: int, context: ActionContext) -> None:
    """Send one prompt to one replica."""
    model = context.service.spec.model
    context.port(Engines).complete(view.address, model=model, prompt=prompt, max_tokens=max_tokens)


def _subjects(parameters: PrewarmParameters, context: ActionContext) -> list[tuple[Target, ReplicaView]]:
    if parameters.replica is not None:
        named = replicas.ReplicaParameters(target=None, replica=parameters.replica)
        return [replicas.find(named, context)]
    topology = replicas.topology(context)
    if topology.zone(str(parameters.zone)) is None:
        msg = f"no zone `{parameters.zone}`"
        raise NotFound(msg, hint=f"zones: {', '.join(zone.name for zone in topology.zones)}")
    return [
        (target, view)
        for target, view in topology.replicas()
        if target.zone == parameters.zone and view.state != "stopped"
    ]
