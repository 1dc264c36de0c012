"""The bar's own columns. Imported only when a bar is drawn, because the library behind it is heavy."""

from rich.progress import ProgressColumn, Task
from rich.text import Text


class FieldColumn(ProgressColumn):
    """Draws one field of the task as plain text, cut to the width of the screen."""

    def __init__(self, field: str) -> None:
        super().__init__()
        self._field = field

    def render(self, task: Task) -> Text:
        """Return the field as text that no markup is read from."""
        return Text(str(task.fields[self._field]), overflow="ellipsis", no_wrap=True)
