"""Profiles as data: one file per engine or exporter, read by `controlplane.observe.profile`."""
