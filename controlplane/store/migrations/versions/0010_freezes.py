"""Freezes: what a playbook raises so that changes wait, beside the windows of the policy."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import Instant

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freezes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("incident", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("lifted_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_freezes")),
    )
    op.create_index(op.f("ix_freezes_service_expires_at"), "freezes", ["service", "expires_at"])


def downgrade() -> None:
    op.drop_table("freezes")
