"""Agents: Syncova's clients on other machines."""
