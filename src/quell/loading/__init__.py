"""Opening what earlier runs have left: files, journals and folders of studies, all read only."""

from quell.loading.load import load

__all__ = ["load"]
