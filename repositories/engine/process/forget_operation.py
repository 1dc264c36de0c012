"""The operation `forget`: delete backups by name or by keep rules.

Owns the translation of the order. What may go is decided by the plan; with `dry_run` the plan is all.
"""

from typing import Any

from repositories.engine.errors import ConfigurationError, OperationCancelledError
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.process.channel import Channel
from repositories.engine.process.forget_fields import forget_document
from repositories.engine.process.introduction import introduce, introduce_writer, refuse_another
from repositories.engine.process.requests import ForgetOrder, Request
from repositories.engine.retention.policy import SECOND_NS, KeepRules


def forget_backups(request: Request, channel: Channel) -> dict[str, Any]:
    """Delete what the order says, once the run that it belongs to is confirmed; the result holds the plan too."""
    if request.forget is None:
        raise ConfigurationError("nothing says what to delete", hint="send a forget order")
    wanted = _wanted(request.forget)
    repository = introduce(request, channel) if request.dry_run else introduce_writer(request, channel)
    refuse_another(request, repository)
    if not request.dry_run:
        repository.require_writable()
    planned = plan(repository, wanted)
    if request.dry_run:
        return forget_document(planned, None)
    if request.run is not None:
        channel.confirm("")
    if channel.cancelled():
        raise OperationCancelledError("the deletion was cancelled", hint="nothing was deleted")
    return forget_document(planned, forget(repository, planned))


def _wanted(order: ForgetOrder) -> ForgetRequest:
    rules = KeepRules(
        last=order.keep_last,
        hourly=order.keep_hourly,
        daily=order.keep_daily,
        weekly=order.keep_weekly,
        monthly=order.keep_monthly,
        yearly=order.keep_yearly,
        within_ns=order.keep_within_seconds * SECOND_NS,
        tags=frozenset(order.keep_tags),
        zone=order.zone,
    )
    return ForgetRequest(order.backups, rules, order.source, order.tag, order.allow_last, order.reason)
