"""The published numbers in words: with the decimals that the source printed, zeros at the end included."""

import numpy as np
import pandas as pd
import pytest

from wavy.companion.claims import NO_NUMBER, as_printed, load_claims

CLAIMS = load_claims()


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("bert-ppl-mix-full", "31.76 → 29.00"),
        ("bert-stsb-mix-full", "52.11 → 29.40"),
        ("cait-full", "77.6 → 78.6"),
        ("deit-infer-full", "2600 → 1300"),
    ],
)
def test_both_sides_have_the_same_decimals(claim, words):
    assert as_printed(CLAIMS.loc[claim]) == words


def test_a_spread_stands_beside_its_mean():
    row = pd.Series({"baseline": 68.8, "baseline_std": 0.25, "variant": 60.0, "variant_std": np.nan})
    assert as_printed(row) == "68.80 ± 0.25 → 60.00"


def test_a_claim_without_numbers_says_so():
    assert as_printed(CLAIMS[CLAIMS["variant"].isna()].iloc[0]) == NO_NUMBER
