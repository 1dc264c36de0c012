"""Admin pages of jobs, one group a file. Everything shows, nothing is edited: states move by services alone."""

from jobs.admin import breaker_pages, job_pages, run_pages, runner_pages, schedule_pages, upkeep_pages

__all__ = ["breaker_pages", "job_pages", "run_pages", "runner_pages", "schedule_pages", "upkeep_pages"]
