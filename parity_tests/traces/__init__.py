"""Recorded decode runs, as data."""
