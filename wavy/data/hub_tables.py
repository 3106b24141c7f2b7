"""Data sets that the package ``datasets`` fetches from its hub, each at one fixed revision."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from wavy.data.cache import cache_folder
from wavy.data.extras import require
from wavy.data.sources import DataUnavailable

if TYPE_CHECKING:
    from datasets import Dataset


def load_from_hub(repository: str, configuration: str | None, split: str, revision: str | None) -> Dataset:
    """Fetch one split of a data set; what was fetched once is taken from the cache, also without network.

    Args:
        repository: For instance ``nyu-mll/glue``, or a local folder in the same form.
        configuration: Which of its data sets, ``None`` where it has one.
        split: For instance ``train``.
        revision: The commit that is taken, so that the data stay the same; ``None`` for the newest.

    Raises:
        DataUnavailable: The package ``datasets`` is missing, or it could not fetch the data.
    """
    datasets = require("datasets", "training")
    folder = str(cache_folder() / "datasets")
    try:
        return datasets.load_dataset(repository, configuration, split=split, revision=revision, cache_dir=folder)
    except Exception as error:  # it raises its own errors and those of several libraries below it
        reason = textwrap.shorten(str(error) or type(error).__name__, 300, placeholder=" ...").rstrip(".")
        raise DataUnavailable(f"{repository}: {reason}. Connect to the network and try again.") from error
