"""The one truth: tables, repositories and the unit of work. Alone imports SQLAlchemy and Alembic.

Everything is read and written inside ``database.transaction()`` or ``database.reading()``.
It refuses to call anything outside while a transaction is open, and to decide: what a state
may become is said in `controlplane.model.states`, and done in `controlplane.store.transitions`.
"""
