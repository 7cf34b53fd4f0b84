"""A step for each item of a list: the items' own rows, each with its item."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import JsonValue

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("steps", sa.Column("item_index", sa.Integer(), nullable=True))
    op.add_column("steps", sa.Column("item", JsonValue, nullable=True))


def downgrade() -> None:
    op.drop_column("steps", "item")
    op.drop_column("steps", "item_index")
