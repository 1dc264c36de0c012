"""The schema's version (H9, H10): what the tables stand at, who may start on them, the way out of a broken migration.

A program older than its database refuses to start before any migration; a migration that was cut off is visible,
goes on by itself where that is safe, and is forced by a person where it is not. Knows no app's models.
"""
