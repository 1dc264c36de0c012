"""As what a chunk is named: a page means other things in another role. Owns the numbers."""

from typing import Final

PLAIN: Final = 1
PAGE: Final = 2
CONTENT: Final = 3
PROBLEMS: Final = 4
