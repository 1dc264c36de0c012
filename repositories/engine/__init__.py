"""The backup engine: pure Python, no Django, no Celery, no environment; everything is passed in."""
