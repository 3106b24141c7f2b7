"""The perplexity of tokens whose probabilities are known."""

from torch import Tensor


def perplexity(probabilities: Tensor) -> float:
    """Return exp(-mean log p) of the probabilities that were given to tokens, of any shape, none empty."""
    return float(probabilities.log().mean().neg().exp())
