"""Data sets that the package ``datasets`` fetches from its hub, or reads from files in its form."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from wavy.data.cache import cache_folder
from wavy.data.extras import require
from wavy.data.sources import DataUnavailable

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset


def load_from_hub(
    repository: str, configuration: str | None = None, *, hint: str = "", **options: object
) -> Dataset | IterableDataset:
    """Fetch one split of a data set; what was fetched once is taken from the cache, also without network.

    Args:
        repository: For instance ``nyu-mll/glue``, a local folder in the same form, or a file format.
        configuration: Which of its data sets, ``None`` where it has one.
        hint: What else can be done where it cannot be had, for the end of the message.
        options: ``split``, for instance ``train``; ``revision``, the commit that is taken, so that the data stay the
            same; and others of ``datasets.load_dataset``.

    Raises:
        DataUnavailable: The package ``datasets`` is missing, or it could not fetch the data.
    """
    datasets = require("datasets", "training")
    folder = str(cache_folder() / "datasets")
    try:
        return datasets.load_dataset(repository, configuration, cache_dir=folder, **options)
    except Exception as error:  # it raises its own errors and those of several libraries below it
        reason = textwrap.shorten(str(error) or type(error).__name__, 300, placeholder=" ...").rstrip(".")
        raise DataUnavailable(
            f"{repository} could not be had by datasets: {type(error).__name__}: {reason}. Connect to the network and "
            f"try again{hint}."
        ) from error
