"""Roles of tokens. Those from before are the admin's: there were no others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("role", sa.Text(), nullable=False, server_default="viewer"))
    op.add_column("tokens", sa.Column("parent", sa.Text(), nullable=True))
    op.add_column("tokens", sa.Column("created_by", sa.Text(), nullable=False, server_default=""))
    op.execute("UPDATE tokens SET role = 'admin'")
    op.create_index(
        "uq_tokens_api_name",
        "tokens",
        ["name"],
        unique=True,
        sqlite_where=sa.text("kind = 'api'"),
        postgresql_where=sa.text("kind = 'api'"),
    )


def downgrade() -> None:
    op.drop_index("uq_tokens_api_name", "tokens")
    for name in ("created_by", "parent", "role"):
        op.drop_column("tokens", name)
