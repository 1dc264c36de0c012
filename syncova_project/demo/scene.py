"""What the demo's steps share: places, figures found so far, and how a step is told.

Owns printing. Names from the tree are shown by the engine's one function.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syncova_project.demo.stage import Stage


@dataclass(slots=True)
class Scene:
    """One demo. `tree` is what is backed up; times in seconds, sizes in bytes."""

    stage: Stage
    tree: bytes
    say: Callable[[str], None]
    spoil: bool = False
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    restored: dict[str, Any] = field(default_factory=dict)
    _step: int = 0

    @property
    def repository(self) -> str:
        """Location of the demo's repository."""
        return str(self.stage.private / "repository")

    @property
    def password_file(self) -> str:
        """File with the repository's password."""
        return str(self.stage.private / "password")

    @property
    def target(self) -> Path:
        """Where the backup is restored."""
        return self.stage.private / "restored"

    @property
    def damaged(self) -> Path:
        """The copy of the repository in which one byte is flipped."""
        return self.stage.private / "damaged copy"

    def step(self, title: str) -> None:
        """Begin the next numbered step."""
        self._step += 1
        self.say(f"\n{self._step}. {title}")

    def result(self, text: str) -> None:
        """Tell what a step showed."""
        self.say(f"   {text}")


def show_size(count: int) -> str:
    """Return a size for people, in MiB or bytes."""
    return f"{count / (1 << 20):,.1f} MiB" if count >= 1 << 20 else f"{count:,} bytes"
