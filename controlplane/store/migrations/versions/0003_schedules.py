"""Schedules: up to which due time each timed trigger has been decided on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import Instant

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("playbook", sa.Text(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("decided", Instant(), nullable=False),
        sa.Column("run", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("playbook", "trigger", "target", name=op.f("pk_schedules")),
    )
    op.create_index(op.f("ix_schedules_service"), "schedules", ["service"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_schedules_service"), table_name="schedules")
    op.drop_table("schedules")
