"""A scorer in the exact calling form of a trainer: ``for_trl``, ``for_verl``, ``for_openrlhf``.

The one decision to know: what a trainer gets for an unscored sample. TRL takes None and leaves the sample out, so it
gets None. verl and OpenRLHF must have a number; they get a fallback that you can read off the call, and ``unscored``
says beside it which numbers are fallbacks. An outage is neither: it raises, so that a run ends rather than learn from
numbers that nobody meant, unless ``on_outage="unscored"`` asks otherwise by name.

Importing this loads neither torch nor a trainer.
"""

from guerdon.rewards.trainers.openrlhf import OpenRLHFReward, for_openrlhf
from guerdon.rewards.trainers.trl import TRLReward, for_trl
from guerdon.rewards.trainers.verl import VerlReward, for_verl

__all__ = ["OpenRLHFReward", "TRLReward", "VerlReward", "for_openrlhf", "for_trl", "for_verl"]
