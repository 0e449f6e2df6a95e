"""Postgres, the truth: every table, the statements over them, and database."""
