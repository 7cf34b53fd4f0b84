"""Plans in a table of their own, since a run's row is rewritten at each turn; who wants a look is counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from controlplane.store.columns import JsonValue

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "plans",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("body", JsonValue, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_plans_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", name=op.f("pk_plans")),
    )
    op.execute("INSERT INTO plans (run, body) SELECT id, plan FROM runs")
    op.drop_column("runs", "plan")
    op.add_column("runs", sa.Column("wanted", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("runs", "wanted")
    op.add_column("runs", sa.Column("plan", JsonValue, nullable=False, server_default="{}"))
    op.execute("UPDATE runs SET plan = (SELECT body FROM plans WHERE plans.run = runs.id)")
    op.drop_table("plans")
