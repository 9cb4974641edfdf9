"""Files that stay in memory: programs exchange them without a change, over the redirect service."""

from thalweg.redirect.coupling import Coupling, FileRule
from thalweg.redirect.launch import Outcome, launch

__all__ = ["Coupling", "FileRule", "Outcome", "launch"]
