"""OpenAI's request and response bodies, as far as the lab's engines speak them.

A request is read into what the engine needs, or refused in OpenAI's error form with the
status vLLM gives. What would change the answer and is not built (several choices,
log-probabilities, tools) is refused rather than ignored; sampling parameters are accepted
and change nothing, for an answer is a function of its prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chaos.lab import answers
from chaos.lab.engine.request import FinishReason

_UNSUPPORTED = ("tools", "functions", "logprobs", "top_logprobs", "prompt_logprobs", "echo", "suffix")


class ApiError(Exception):
    """An answer other than 200, in OpenAI's form."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": status}}


ENGINE_DEAD = ApiError(
    500,
    "InternalServerError",
    "EngineCore encountered an issue. See stack trace (above) for the root cause.",
)
"""What a server says whose engine has died."""


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    role: str
    content: str | list[_Part] | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Options(BaseModel):
    """What chat and text completions have in common; unknown fields are the client's business."""

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    n: int = Field(default=1, ge=1)
    stream: bool = False
    stream_options: _StreamOptions | None = None
    stop: str | list[str] | None = None
    ignore_eos: bool = False
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)

    def stops(self) -> list[str]:
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return [text for text in stops if text]


class _ChatBody(_Options):
    messages: list[_Message] = Field(min_length=1)

    def prompt_text(self) -> str:
        return answers.chat_prompt(message.text() for message in self.messages)


class _CompletionBody(_Options):
    prompt: str | list[str]

    def prompt_text(self) -> str:
        prompts = [self.prompt] if isinstance(self.prompt, str) else self.prompt
        if len(prompts) != 1:
            raise _bad("This engine takes one prompt per request.", "prompt")
        return prompts[0]


@dataclass(frozen=True, slots=True)
class Call:
    """A validated request: what to compute and how to hand it out.

    ``tokens`` are the answer's tokens as the engine counts them, ``pieces`` the text that
    each of them adds for the client (a stop string is computed but not shown).
    """

    chat: bool
    prompt: Sequence[str]
    tokens: Sequence[str]
    pieces: Sequence[str]
    ending: FinishReason
    max_tokens: int | None
    stream: bool
    include_usage: bool

    def usage(self) -> dict[str, int]:
        """Return OpenAI's ``usage`` of the whole answer."""
        prompt, completion = len(self.prompt), len(self.tokens)
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "completion_tokens": completion,
        }


def parse(raw: bytes, *, chat: bool, model: str, max_model_len: int) -> Call:
    """Read a request's body.

    Raises:
        ApiError: 400 when it is not valid or asks for what is not built, 404 for another model.
    """
    try:
        document = json.loads(raw)
        body = (_ChatBody if chat else _CompletionBody).model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _bad(f"{place}: {first['msg']}", place or None) from error
    except (ValueError, RecursionError) as error:
        raise _bad(f"The body is not JSON: {error}") from error
    if body.model not in (None, "", model):
        message = f"The model `{body.model}` does not exist."
        raise ApiError(404, "NotFoundError", message, "model")
    _refuse_unsupported(document, body)
    prompt = body.prompt_text()
    words = answers.prompt_tokens(prompt)
    if not words:
        raise _bad("The prompt is empty.", "messages" if chat else "prompt")
    limit = body.max_completion_tokens or body.max_tokens
    count, ending = _length(body, prompt, len(words), limit, max_model_len)
    tokens: Sequence[str] = answers.answer_tokens(prompt, count)
    pieces = tokens
    if stops := body.stops():
        tokens, pieces, ending = _cut(tokens, stops, ending)
    usage = body.stream_options is not None and body.stream_options.include_usage
    return Call(chat, words, tokens, pieces, ending, limit, body.stream, usage)


def response(call: Call, identifier: str, created: int, model: str) -> bytes:
    """Return the body of an answer that is not streamed."""
    text = "".join(call.pieces)
    content: dict[str, Any] = (
        {"message": {"role": "assistant", "content": text}} if call.chat else {"text": text}
    )
    document = {
        "id": identifier,
        "object": "chat.completion" if call.chat else "text_completion",
        "created": created,
        "model": model,
        "choices": [
            {"index": 0, **content, "logprobs": None, "finish_reason": call.ending, "stop_reason": None}
        ],
        "usage": {**call.usage(), "prompt_tokens_details": None},
    }
    return json.dumps(document, separators=(",", ":")).encode()


def models(model: str, created: int, max_model_len: int) -> dict[str, Any]:
    """Return the body of ``/v1/models``."""
    card = {
        "id": model,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": model,
        "parent": None,
        "max_model_len": max_model_len,
    }
    return {"object": "list", "data": [card]}


def _length(
    body: _Options, prompt: str, words: int, limit: int | None, longest: int
) -> tuple[int, FinishReason]:
    room = longest - words
    if room < max(1, limit or 0):
        raise _bad(
            f"This model's maximum context length is {longest} tokens. However, you requested "
            f"{words + (limit or 0)} tokens ({words} in the messages, {limit or 0} in the completion). "
            "Please reduce the length of the messages or completion."
        )
    allowed = limit or room
    natural = answers.natural_length(prompt)
    if body.ignore_eos or natural > allowed:
        return allowed, FinishReason.LENGTH
    return natural, FinishReason.STOP


def _cut(
    tokens: Sequence[str], stops: Sequence[str], ending: FinishReason
) -> tuple[Sequence[str], Sequence[str], FinishReason]:
    """End at the stop string that is first complete: computed up to its last token, shown up to its start."""
    text = "".join(tokens)
    found = [(at + len(stop), at) for stop in stops if (at := text.find(stop)) >= 0]
    if not found:
        return tokens, tokens, ending
    end, shown = min(found)
    pieces: list[str] = []
    for token in tokens:
        if end <= 0:
            break
        pieces.append(token[: max(0, shown)])
        end -= len(token)
        shown -= len(token)
    return tokens[: len(pieces)], pieces, FinishReason.STOP


def _refuse_unsupported(document: Mapping[str, Any], body: _Options) -> None:
    if body.n != 1:
        raise _bad(f"n={body.n} is not supported: this engine gives one choice.", "n")
    for name in _UNSUPPORTED:
        if document.get(name):
            raise _bad(f"{name} is not supported by this engine.", name)


def _bad(message: str, param: str | None = None) -> ApiError:
    return ApiError(400, "BadRequestError", message, param)
