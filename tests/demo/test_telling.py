"""What the demo prints beside its steps: names that paint no terminal, and next commands that work in their order."""

from pathlib import Path
from typing import Any

from syncova_project.demo.compare import Comparison
from syncova_project.demo.proof import _tell
from syncova_project.demo.scene import Scene
from syncova_project.demo.stage import Stage
from syncova_project.demo.summary import tell_next_steps


def scene_of(said: list[str], directory: Path) -> Scene:
    stage: Any = object.__new__(Stage)
    stage.directory = directory
    return Scene(stage, b"/tree", said.append)


def test_a_hostile_name_is_shown_as_everywhere_else(tmp_path: Path) -> None:
    said: list[str] = []
    _tell(scene_of(said, tmp_path), Comparison(differences=[(b"a\x1b[2J\xff\xe2\x80\xae", "content differs")]))
    assert said == ["   DIFFERS: a\\x1b[2J\\xff\\u202e: content differs"]


def test_a_repository_is_registered_before_a_job_names_it(tmp_path: Path) -> None:
    said: list[str] = []
    tell_next_steps(scene_of(said, tmp_path))
    order = [
        next(number for number, line in enumerate(said) if words in line)
        for words in ("./syncova up -d", "repo create", "ctl repository register home", "--repository home")
    ]
    assert order == sorted(order)
