"""The program on the other machine: imports the engine and nothing of Django."""
