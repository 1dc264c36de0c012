"""What people are told of a reserve that was used, or is not whole. Owns the words only."""

from typing import Any

from repositories.console.terminal import Terminal


def tell_of_reserve(terminal: Terminal, report: dict[str, Any]) -> None:
    """Say that the reserve was used; warn, also with -q, if it is not whole, loudly if less than half of it is left."""
    lack = report["reserve_lack"]
    if report["reserve_used"]:
        again = "" if lack else ", and is whole again"
        terminal.note(f"the medium was full: the reserve was used{again}; forget, then prune, to free room")
    if report["reserve_gone"]:
        terminal.warning(
            f"THE RESERVE IS GONE: {lack}. When the medium is full, forget, prune and repair will fail: free room "
            "now (other files on the medium, a larger medium, forget and prune while they still work), then prune again"
        )
    elif lack:
        terminal.warning(f"the reserve is not whole: {lack}; the next prune tries again")
