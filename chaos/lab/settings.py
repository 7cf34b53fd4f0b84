"""What the lab's engines are made of: every number with its unit and where it comes from.

Values only: nothing here reads files or the environment. Whoever starts a node passes
the settings down.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from controlplane.model.base import Model


class EngineSettings(Model):
    """One replica's engine: a step-based model of continuous batching.

    The default replica decodes two or three sequences in about 22 ms a step, and eight, its most,
    in under 40 ms: what more load costs first is speed, as on a GPU, and a place in the batch only
    then. Twelve full replicas yield some 2,400 tokens/s, so 12.5 requests/s of 100 output tokens
    and canaries of 8 tokens each 2 s use 53 % of three zones and 80 % of two. Slots to spare
    are what keeps first tokens in time on two zones: five slots of 24 ms yield nearly as much, and
    requests queue there beside free slots of other replicas.
    """

    step_base: float = Field(
        default=0.015,
        gt=0,
        description="Seconds of a step beside its load: reading the weights once. "
        "Source: the lab's step of about 22 ms (design, 'The lab's numbers') at the lab's traffic.",
    )
    step_per_sequence: float = Field(
        default=0.0028,
        ge=0,
        description="Seconds added by each sequence in the batch. Source: chosen so that a full batch stays "
        "under the 50 ms objective, and the lab's traffic is 55 ± 5 % of what three zones can do.",
    )
    step_per_prefill_token: float = Field(
        default=0.00003,
        ge=0,
        description="Seconds added by each prompt token computed in the step, about 33,000 tokens/s. "
        "Source: order of magnitude of an 8B model's prefill on one H100.",
    )
    step_per_kv_token: float = Field(
        default=0.0000005,
        ge=0,
        description="Seconds added by each cached token the batch attends to. "
        "Source: 128 KiB of KV per token of Llama 3.1 8B at some 300 GB/s effective.",
    )
    step_jitter: float = Field(
        default=0.03,
        ge=0,
        le=0.3,
        description="Relative standard deviation of a step's time. Source: the lab's choice, small enough "
        "that one request's mean over 100 tokens moves by 0.3 %.",
    )
    max_num_seqs: int = Field(
        default=8,
        ge=1,
        description="Slots: sequences in one batch. Source: a batch of this size still keeps the 50 ms "
        "objective with a margin for long prompts.",
    )
    max_num_batched_tokens: int = Field(
        default=512,
        ge=1,
        description="Token budget of one step (chunked prefill). Source: 512 prompt tokens add 15 ms, so a "
        "long prompt alone cannot push its neighbours over the 50 ms objective.",
    )
    max_model_len: int = Field(
        default=16384,
        ge=16,
        description="Longest prompt plus answer, tokens. Source: the 1-2-5 token buckets of vLLM 0.20.0's "
        "exposition end at 10,000, hence a length of at least 10,000 and under 20,000.",
    )
    block_size: int = Field(
        default=16,
        ge=1,
        description="Tokens per KV block. Source: vLLM 0.20.0's `block_size` on CUDA.",
    )
    num_gpu_blocks: int = Field(
        default=1024,
        ge=1,
        description="KV blocks. Source: the fewest that hold one request of max_model_len, so that KV "
        "exhaustion is within reach of four slots.",
    )
    enable_prefix_caching: bool = Field(
        default=True,
        description="Keep finished blocks for prompts that begin alike. Source: vLLM 0.20.0's default.",
    )
    load_time: float = Field(
        default=4.0,
        ge=0,
        description="Seconds from the start of an incarnation until its port answers. Source: the lab's "
        "choice; minutes on real hardware, too long for a demo of four.",
    )

    @model_validator(mode="after")
    def _one_request_fits(self) -> Self:
        if self.num_gpu_blocks * self.block_size < self.max_model_len:
            msg = (
                f"{self.num_gpu_blocks} blocks of {self.block_size} tokens do not hold one request of "
                f"maxModelLen {self.max_model_len}: it could never end"
            )
            raise ValueError(msg)
        if self.max_num_batched_tokens < self.max_num_seqs:
            msg = f"maxNumBatchedTokens {self.max_num_batched_tokens} is below maxNumSeqs {self.max_num_seqs}"
            raise ValueError(msg)
        return self
