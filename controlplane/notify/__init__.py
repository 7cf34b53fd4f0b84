"""How people are told: channels of the policy, and where a message may go at all."""
