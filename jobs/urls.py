"""Addresses of the jobs and runs API, below /api/v1/."""

from django.urls import path

from jobs import (
    ahead_views,
    content_views,
    history_views,
    lookup_views,
    operation_views,
    queue_views,
    run_views,
    schedule_views,
    upkeep_views,
    views,
    window_views,
)

urlpatterns = [
    path("jobs", views.JobsView.as_view(), name="jobs"),
    path("jobs/validate", ahead_views.JobValidateView.as_view(), name="job-validate"),
    path("jobs/preview", ahead_views.PreviewView.as_view(), name="preview"),
    path("jobs/<uuid:job_id>/preview", ahead_views.JobPreviewView.as_view(), name="job-preview"),
    path("jobs/<uuid:job_id>", views.JobView.as_view(), name="job"),
    path("jobs/<uuid:job_id>/dependencies", views.JobDependenciesView.as_view(), name="job-dependencies"),
    path("jobs/<uuid:job_id>/pause", views.JobPauseView.as_view(), name="job-pause"),
    path("jobs/<uuid:job_id>/resume", views.JobResumeView.as_view(), name="job-resume"),
    path("jobs/<uuid:job_id>/run", views.JobRunView.as_view(), name="job-run"),
    path("jobs/<uuid:job_id>/runs", views.JobRunsView.as_view(), name="job-runs"),
    path("jobs/<uuid:job_id>/revisions", history_views.JobRevisionsView.as_view(), name="job-revisions"),
    path("jobs/<uuid:job_id>/schedule-events", history_views.JobScheduleEventsView.as_view(), name="schedule-events"),
    path("jobs/<uuid:job_id>/decisions", history_views.JobDecisionsView.as_view(), name="job-decisions"),
    path("repositories/<uuid:repository_id>/check", operation_views.CheckView.as_view(), name="repository-check"),
    path("repositories/<uuid:repository_id>/prune", operation_views.PruneView.as_view(), name="repository-prune"),
    path("repositories/<uuid:repository_id>/forget", operation_views.ForgetView.as_view(), name="repository-forget"),
    path("repositories/<uuid:repository_id>/copy", operation_views.CopyView.as_view(), name="repository-copy"),
    path("repositories/<uuid:repository_id>/restore", operation_views.RestoreView.as_view(), name="repository-restore"),
    path("repositories/<uuid:repository_id>/breaker/reset", views.BreakerResetView.as_view(), name="repository-retry"),
    path("repositories/<uuid:repository_id>/upkeep", upkeep_views.UpkeepListView.as_view(), name="upkeep-list"),
    path("repositories/<uuid:repository_id>/upkeep/<str:kind>", upkeep_views.UpkeepView.as_view(), name="upkeep"),
    path(
        "repositories/<uuid:repository_id>/backups/<str:backup>/files",
        lookup_views.BackupFilesView.as_view(),
        name="backup-files",
    ),
    path(
        "repositories/<uuid:repository_id>/backups/<str:backup>/find",
        lookup_views.BackupFindView.as_view(),
        name="backup-find",
    ),
    path(
        "repositories/<uuid:repository_id>/backups/<str:backup>/content",
        content_views.BackupContentView.as_view(),
        name="backup-content",
    ),
    path("lookups/<uuid:lookup_id>", lookup_views.LookupView.as_view(), name="lookup"),
    path("windows", window_views.WindowsView.as_view(), name="windows"),
    path("windows/preview", window_views.WindowPreviewView.as_view(), name="window-preview"),
    path("windows/<uuid:window_id>", window_views.WindowView.as_view(), name="window"),
    path("queue", queue_views.QueueView.as_view(), name="queue"),
    path("schedules", schedule_views.SchedulesView.as_view(), name="schedules"),
    path("runs", run_views.RunsView.as_view(), name="runs"),
    path("runs/<uuid:run_id>", run_views.RunView.as_view(), name="run"),
    path("runs/<uuid:run_id>/cancel", run_views.RunCancelView.as_view(), name="run-cancel"),
    path("runs/<uuid:run_id>/events", run_views.RunEventsView.as_view(), name="run-events"),
    path("runs/<uuid:run_id>/log", run_views.RunLogView.as_view(), name="run-log"),
    # The name that the source gives it.
    path("backup-runs/<uuid:run_id>/cancel", run_views.RunCancelView.as_view(), name="backup-run-cancel"),
]
