"""Approvals: what waits for a decision of people, and what they decided."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import Instant, JsonValue

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("roles", JsonValue, nullable=False),
        sa.Column("on_timeout", sa.Text(), nullable=False),
        sa.Column("requested_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("decided_at", Instant(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("preview", JsonValue, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_approvals_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
    )
    op.create_index("uq_approvals_run_step", "approvals", ["run", "step"], unique=True)
    op.create_index(op.f("ix_approvals_decision_expires_at"), "approvals", ["decision", "expires_at"])


def downgrade() -> None:
    op.drop_table("approvals")
