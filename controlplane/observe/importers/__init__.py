"""Objectives from other tools' files: what they say becomes our kinds, and what is lost is told."""
