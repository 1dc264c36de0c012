"""What every operation of the child shares: the run's bucket, and progress as an event."""

import time

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_path
from repositories.engine.process.channel import Channel
from repositories.engine.process.protocol import Progress
from repositories.engine.process.requests import Request
from repositories.engine.progress import Progress as Report
from repositories.engine.throttle import Throttle


def bucket_of(request: Request, channel: Channel) -> Throttle | None:
    """Return the one bucket of the run, if there is a limit; made before the repository is opened (C7)."""
    rate = request.bandwidth_bytes_per_second
    if rate is None:
        return None
    return Throttle(rate, monotonic=SYSTEM_CLOCK.monotonic, sleep=time.sleep, stop=channel.cancelled)


def progress_event(progress: Report, source: str | None) -> Progress:
    """Return the engine's progress as an event."""
    return Progress(
        source=source,
        phase=progress.phase,
        files=progress.files,
        bytes_read=progress.bytes_read,
        bytes_stored=progress.bytes_stored,
        current=show_path(progress.current),
    )
