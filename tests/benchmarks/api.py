"""`./syncova bench api`: the ten busiest endpoints over many jobs and a long history (7.16).

    ./syncova bench api [--jobs 10000] [--runs 1000000] [--requests 200]

A private PostgreSQL in a directory of its own, removed at the end. Each request goes through the whole application,
from its middleware to the bytes of the answer, in one process and one thread, without a socket. What is printed of an
endpoint: p50 and p95 by the wall, requests a second of this one thread, and the processor time of a request beside
that of the database, which the load of others leaves alone. Nothing is asserted.
"""

import argparse
import sys
from collections.abc import Sequence

from syncova_project.embedded import postgres
from tests import private_servers
from tests.benchmarks import control
from tests.benchmarks.machine import this_machine


def main(words: Sequence[str]) -> int:
    """The ten busiest endpoints of the API over many jobs and a long history."""
    parser = argparse.ArgumentParser(prog="./syncova bench api", description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=200, help="of each endpoint")
    given = parser.parse_args(words)
    with private_servers.session_directory() as directory:
        layout, account = private_servers.layout_in(directory)
        database = private_servers.start_database(layout, account)
        try:
            machine = this_machine(directory)
            _say(f"{machine.processor}, {machine.cores} cores, load {machine.load:.1f}, {machine.kernel}")
            control.set_up(directory, control.new_database(layout, database.test_url, "api_bench"))
            _measure(given)
        finally:
            postgres.stop(database.running.identity)
    return 0


def _measure(given: argparse.Namespace) -> None:
    from tests.benchmarks import api_calls, history_rows

    jobs = history_rows.make_queue(repositories=50, waiting=given.jobs)
    api_calls.plan(jobs)
    history_rows.make_history(jobs, runs=given.runs)
    _say(f"{given.jobs} jobs with a schedule and a waiting run each, {given.runs} finished runs, 50 repositories")
    for line in api_calls.measured(jobs, requests=given.requests):
        _say(line)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
