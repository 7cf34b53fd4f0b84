"""Calm: since when the signal of an incident that is still open has not been bad."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import Instant

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("incidents", sa.Column("calm_since", Instant(), nullable=True))


def downgrade() -> None:
    op.drop_column("incidents", "calm_since")
