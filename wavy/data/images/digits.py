"""The 1797 handwritten digits that come with scikit-learn; always available."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from wavy.data.images.image_data import ImageData, shuffled, training_part
from wavy.data.strata import stratified_order

#: Images for testing, drawn by class; a tenth of the others is for validation. There is no public split.
TEST = 360
VALIDATION_SHARE = 0.1


def load_digit_images(split: str) -> ImageData:
    """Load 1293 images for training, 144 for validation or 360 for testing. See ``wavy.data.images.load_images``.

    Args:
        split: ``train``, ``validation`` or ``test``.

    Returns:
        Images (N, 8, 8, 3): grey, the same in all three channels, 16 grey levels spread over 0 to 255.
    """
    digits = load_digits()
    grey = np.rint(digits.images * (255 / 16)).astype(np.uint8)  # pixels are integers from 0 to 16
    order = stratified_order(digits.target, seed=0)
    whole = ImageData(
        name="digits",
        split=split,
        images=np.repeat(grey[..., None], 3, axis=-1),
        labels=digits.target.astype(np.int64),
        classes=tuple("0123456789"),
        mean=(0.3060,) * 3,
        std=(0.3764,) * 3,
        mirrors=False,
        source="scikit-learn",
    )
    if split == "test":
        return whole.take(shuffled(order[:TEST], seed=0))
    return training_part(whole.take(np.sort(order[TEST:])), split, VALIDATION_SHARE)
