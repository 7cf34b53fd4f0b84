"""What people do with runs: pausing one, doing one again, taking one back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("paused", "retry_of", "undo_of"):
        op.add_column("runs", sa.Column(name, sa.Text(), nullable=True))
    op.create_index("uq_runs_retry_of", "runs", ["retry_of"], unique=True)
    active = sa.text("ended_at IS NULL")
    op.create_index(
        "uq_runs_active_undo_of",
        "runs",
        ["undo_of"],
        unique=True,
        sqlite_where=active,
        postgresql_where=active,
    )


def downgrade() -> None:
    op.drop_index("uq_runs_active_undo_of", "runs")
    op.drop_index("uq_runs_retry_of", "runs")
    for name in ("undo_of", "retry_of", "paused"):
        op.drop_column("runs", name)
