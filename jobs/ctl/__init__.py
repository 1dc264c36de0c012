"""The program ./syncova ctl: a thin client of the API. No Django, no rule of its own."""
