"""The engine model: continuous batching with a paged KV cache, as pure code under a given clock."""
