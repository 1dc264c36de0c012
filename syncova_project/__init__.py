"""The Django project: settings, the leaves that every app may import, and the processes' entry points."""
