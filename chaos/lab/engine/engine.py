"""Continuous batching, one step at a time: admission, chunked prefill, decode, preemption, end.

The engine is a state machine under a clock that the caller gives: `begin` chooses a batch
and says when its step ends, `complete` hands out the tokens. It starts no task and reads
no time, so the same code runs under asyncio and under a test's virtual clock. It follows
vLLM's V1 scheduler: running requests first, then the queue in order of arrival; when
blocks run out, the youngest running request is put back and later computed anew.
"""

from __future__ import annotations

import random
from collections import deque

from chaos.lab.engine.blocks import BlockPool
from chaos.lab.engine.request import FinishReason, Request
from chaos.lab.engine.step import Batch, StepReport, step_time
from chaos.lab.settings import EngineSettings
from controlplane.kernel.errors import InvalidInput


class Engine:
    """One replica's engine. Not safe to share between threads."""

    def __init__(self, settings: EngineSettings, rng: random.Random) -> None:
        self.settings = settings
        self.slow_factor = 1.0
        self.steps = 0
        self.tokens = 0
        self.prefilled = 0
        self._rng = rng
        self._pool = BlockPool(settings.num_gpu_blocks, caching=settings.enable_prefix_caching)
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._aborting: list[Request] = []
        self._batch: Batch | None = None
        self._report = StepReport()
        self._hung = False
        self._busy = 0.0
        self._stalled = 0.0
        self._stalled_since: float | None = None

    @property
    def running(self) -> int:
        """Requests that hold a slot."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in the queue, preempted ones included."""
        return len(self._waiting)

    @property
    def used_blocks(self) -> int:
        """KV blocks held by requests."""
        return self._pool.used

    @property
    def hung(self) -> bool:
        """Whether the step loop makes no progress."""
        return self._hung

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return bool(self._running or self._waiting or self._aborting)

    def add(self, request: Request, now: float) -> None:
        """Queue a request.

        Raises:
            InvalidInput: it has no prompt or no answer to generate, or is longer than ``max_model_len``.
        """
        total = len(request.prompt) + len(request.answer)
        if not request.prompt or not request.answer:
            raise InvalidInput("a request needs at least one prompt token and one token to generate")
        if total > self.settings.max_model_len:
            raise InvalidInput(f"{total} tokens exceed the maximum of {self.settings.max_model_len}")
        self._waiting.append(request)
        self._note_stall(now)

    def abort(self, request: Request) -> None:
        """Drop a request at the next step boundary; idempotent, and nothing when it has ended."""
        if request.finish_reason is None and not request.aborting:
            request.aborting = True
            self._aborting.append(request)

    def hang(self, now: float) -> None:
        """Stop all progress; whatever is in the engine or comes later stays there."""
        self._hung = True
        self._note_stall(now)

    def resume(self, now: float) -> None:
        """End a hang; a step that was in flight completes when next asked."""
        self._hung = False
        self._stalled = self.stalled(now)
        self._stalled_since = None

    def busy(self, now: float) -> float:
        """Return the seconds spent in steps so far, the one in flight included."""
        batch = self._batch
        return self._busy + (max(0.0, min(now, batch.ends_at) - batch.started_at) if batch else 0.0)

    def stalled(self, now: float) -> float:
        """Return the seconds during which the engine hung with work to do."""
        since = self._stalled_since
        return self._stalled + (now - since if since is not None else 0.0)

    def begin(self, now: float) -> float | None:
        """Start a step and return when it ends, or None: nothing to do, hung, or one in flight."""
        if self._batch is not None or self._hung or not self.has_work:
            return None
        self._report = StepReport(aborted=self._drop_aborted())
        batch = Batch(started_at=now)
        budget = self._schedule_running(batch, self.settings.max_num_batched_tokens)
        if not self._report.preemptions:
            self._admit(batch, budget, now)
        batch.ends_at = now + step_time(batch, self.settings, self._rng) * self.slow_factor
        self._batch = batch
        return batch.ends_at

    def complete(self, now: float) -> StepReport | None:
        """End the step in flight and return what it did, or None: hung, or no step in flight."""
        batch = self._batch
        if batch is None or self._hung:
            return None
        self._batch = None
        report = self._report
        for request, tokens in batch.work:
            if not request.aborting:
                self._advance(request, tokens, report, now)
        self.steps += 1
        self.tokens += len(report.outputs)
        self.prefilled += batch.prefill_tokens
        self._busy += batch.ends_at - batch.started_at
        report.prefill_tokens = batch.prefill_tokens
        report.running, report.waiting = len(self._running), len(self._waiting)
        report.kv_usage = self._pool.used / self._pool.capacity
        return report

    def _schedule_running(self, batch: Batch, budget: int) -> int:
        position = 0
        while position < len(self._running) and budget > 0:
            request = self._running[position]
            tokens = min(request.length - request.computed, budget)
            if not self._grow(request, tokens):
                break
            batch.add(request, tokens)
            budget -= tokens
            position += 1
        return budget

    def _grow(self, request: Request, tokens: int) -> bool:
        """Give a running request room for ``tokens`` more; False when it was itself preempted for it."""
        missing = self._blocks_for(request.computed + tokens) - len(request.blocks)
        while missing > 0:
            taken = self._pool.take((), missing)
            if taken is not None:
                request.blocks.extend(taken)
                break
            victim = self._running.pop()
            self._preempt(victim)
            if victim is request:
                return False
        return True

    def _admit(self, batch: Batch, budget: int, now: float) -> None:
        while self._waiting and budget > 0 and len(self._running) < self.settings.max_num_seqs:
            request = self._waiting[0]
            cached = self._cached_blocks(request)
            computed = len(cached) * self.settings.block_size
            tokens = min(request.length - computed, budget)
            taken = self._pool.take(cached, self._blocks_for(computed + tokens) - len(cached))
            if taken is None:
                break
            self._running.append(self._waiting.popleft())
            request.blocks, request.computed = taken, computed
            if request.scheduled_at is None:
                request.scheduled_at, request.cached = max(now, request.arrived_at), computed
                self._report.prefix_queries += request.length
                self._report.prefix_hits += computed
            batch.add(request, tokens)
            budget -= tokens

    def _cached_blocks(self, request: Request) -> list[int]:
        """Return the cached beginning; the last token is always computed, for its logits are wanted."""
        usable = (request.length - 1) // self.settings.block_size
        return self._pool.match(request.hash_blocks(self.settings.block_size)[:usable])

    def _advance(self, request: Request, tokens: int, report: StepReport, now: float) -> None:
        size = self.settings.block_size
        full = request.computed // size
        request.computed += tokens
        for index in range(full, request.computed // size):
            self._pool.seal(request.blocks[index], request.hash_blocks(size)[index])
        if request.computed < request.length:
            return
        request.emitted += 1
        if request.last_token_at is None:
            request.first_token_at = now
        else:
            request.token_gap = now - request.last_token_at
        request.last_token_at = now
        report.outputs.append(request)
        if request.emitted == len(request.answer):
            self._running.remove(request)
            self._end(request, request.ending)
            report.finished.append(request)

    def _preempt(self, request: Request) -> None:
        self._pool.release(request.blocks)
        request.blocks, request.computed = [], 0
        request.preemptions += 1
        self._report.preemptions += 1
        self._waiting.appendleft(request)

    def _drop_aborted(self) -> list[Request]:
        dropped, self._aborting = [r for r in self._aborting if r.finish_reason is None], []
        for request in dropped:
            if request in self._running:
                self._running.remove(request)
            else:
                self._waiting.remove(request)
            self._end(request, FinishReason.ABORT)
        return dropped

    def _end(self, request: Request, reason: FinishReason) -> None:
        self._pool.release(request.blocks)
        request.blocks = []
        request.finish_reason = reason

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.settings.block_size)

    def _note_stall(self, now: float) -> None:
        if self._hung and self._stalled_since is None and self.has_work:
            self._stalled_since = now
