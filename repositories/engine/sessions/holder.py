"""Who holds a lease, as sessions name it: the judgement itself is in repositories/engine/holder.py. Owns nothing."""

from repositories.engine.holder import Holder, is_surely_dead, process_start, this_process

__all__ = ["Holder", "is_surely_dead", "process_start", "this_process"]
