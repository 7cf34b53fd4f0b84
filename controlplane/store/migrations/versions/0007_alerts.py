"""Alerts that Alertmanager sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import Instant, JsonValue

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("starts_at", Instant(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("ends_at", Instant(), nullable=True),
        sa.Column("labels", JsonValue, nullable=False),
        sa.Column("annotations", JsonValue, nullable=False),
        sa.Column("receiver", sa.Text(), nullable=False),
        sa.Column("received_at", Instant(), nullable=False),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", "starts_at", name=op.f("pk_alerts")),
    )
    op.create_index(op.f("ix_alerts_status_ends_at"), "alerts", ["status", "ends_at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_alerts_status_ends_at"), table_name="alerts")
    op.drop_table("alerts")
