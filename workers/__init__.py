"""Workers: the Celery side. Tasks call one function of an app below and return nothing."""
