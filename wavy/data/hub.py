"""Files of a repository on the Hugging Face hub, or a mirror of it that HF_ENDPOINT names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavy.data.extras import require
from wavy.data.sources import DataUnavailable


@dataclass(frozen=True)
class HubFiles:
    """Files that the package ``huggingface_hub`` fetches (it comes with ``transformers``)."""

    repository: str
    files: Mapping[str, str]  # relative path -> name in the repository
    label: str = "hub"

    def fetch(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the files; the first failure ends the attempt. See ``sources.Source``."""
        hub = require("huggingface_hub", "hosts")
        for path in paths:
            if path in self.files:
                try:
                    content = Path(hub.hf_hub_download(self.repository, self.files[path])).read_bytes()
                except OSError as error:  # all failures of the network and of the hub are OSErrors
                    raise DataUnavailable(" ".join(str(error).split())) from error
                yield path, content
