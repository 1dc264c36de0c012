"""What only one module may do: write a run's state, read the clock, read the environment."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source_files import Module, calls, dotted, product

STATE_WRITER = "jobs/transitions.py"
CLOCKS = {"syncova_project/clock.py", "repositories/engine/clock.py"}
ENVIRONMENT_READER = "syncova_project/env.py"
CLOCK_CALL = re.compile(
    r"^(time\.(time|monotonic|perf_counter|process_time)(_ns)?|(dt\.|datetime\.)?datetime\.(now|utcnow|today)"
    r"|(dt\.|datetime\.)?date\.today|(\w+\.)?timezone\.(now|localtime|localdate))$"
)
TIME_NAMES = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
ENVIRONMENT = re.compile(r"^os\.(environb?|getenvb?|putenv|unsetenv)$")
STATE_SQL = re.compile(r'update\s+"?runs"?\s.*\bset\b.*"?state"?\s*=', re.IGNORECASE | re.DOTALL)
WRITING = {"update", "create", "get_or_create", "update_or_create", "bulk_update", "Run"}


def state_writes(module: Module) -> Iterator[str]:
    """Yield the places that set a run's state: assignment, update, create, constructor, setattr or SQL."""
    for node in ast.walk(module.tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(each, ast.Attribute) and each.attr == "state" and _is_run(each.value) for each in targets):
            yield module.where(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and STATE_SQL.search(node.value):
            yield module.where(node)
    for call, name in calls(module):
        if name.split(".")[-1] in WRITING and any(_sets_run_state(call, each) for each in call.keywords):
            yield module.where(call)
        if (
            name == "setattr"
            and [ast.unparse(each) for each in call.args[1:2]] == ["'state'"]
            and _is_run(call.args[0])
        ):
            yield module.where(call)


def _sets_run_state(call: ast.Call, keyword: ast.keyword) -> bool:
    if keyword.arg != "state":
        return False
    return "RunState" in ast.unparse(keyword.value) or _is_run(call.func)


def _is_run(node: ast.expr) -> bool:
    return re.search(r"(?<!task_)\brun\b|\bRun\b|\bruns\b", ast.unparse(node)) is not None


def clock_reads(module: Module) -> Iterator[str]:
    """Yield the places that read a clock."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and CLOCK_CALL.match(dotted(node)):
            yield module.where(node)
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "time"
            and TIME_NAMES & {each.name for each in node.names}
        ):
            yield module.where(node)


def environment_reads(module: Module) -> Iterator[str]:
    """Yield the places that read or change the environment."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and ENVIRONMENT.match(dotted(node)):
            yield module.where(node)
        names = node.names if isinstance(node, ast.ImportFrom) and node.module == "os" else []
        if any(ENVIRONMENT.match(f"os.{each.name}") for each in names):
            yield module.where(node)


def test_one_module_writes_the_state_of_runs() -> None:
    found = [place for each in product() if each.path != STATE_WRITER for place in state_writes(each)]
    assert found == []


def test_the_writer_of_states_writes_them() -> None:
    """Guards the rule above: if the writer moves or its shape changes, the search must follow."""
    (writer,) = [each for each in product() if each.path == STATE_WRITER]
    assert list(state_writes(writer))


def test_one_module_reads_the_clock() -> None:
    assert [place for each in product() if each.path not in CLOCKS for place in clock_reads(each)] == []


def test_one_module_reads_the_environment() -> None:
    found = [place for each in product() if each.path != ENVIRONMENT_READER for place in environment_reads(each)]
    assert found == []


@pytest.mark.parametrize(
    ("search", "line"),
    [
        (state_writes, "run.state = other"),
        (state_writes, "Run.objects.filter(id=1).update(state=chosen)"),
        (state_writes, "mine.update(state=RunState.FAILED)"),
        (state_writes, "setattr(run, 'state', x)"),
        (state_writes, "cursor.execute('UPDATE runs SET state = %s')"),
        (clock_reads, "dt.datetime.now(dt.UTC)"),
        (clock_reads, "x = time.monotonic"),
        (clock_reads, "from time import time_ns"),
        (environment_reads, "os.environ['HOME']"),
        (environment_reads, "from os import environ"),
    ],
)
def test_each_search_sees_a_breach(search, line) -> None:
    assert list(search(Module("x.py", line, ast.parse(line)))) == ["x.py:1"]


@pytest.mark.parametrize("line", ["task_run.state = x", "repository.state = x", "mine.update(state=TaskState.RUNNING)"])
def test_other_states_are_not_the_runs(line) -> None:
    assert list(state_writes(Module("x.py", line, ast.parse(line)))) == []
