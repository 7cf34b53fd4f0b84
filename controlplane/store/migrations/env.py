"""Alembic's entry: it migrates over the connection that `controlplane.store.migrations.upgrade` gives it."""

from alembic import context

from controlplane.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
context.run_migrations()
