"""Other remedies against over-smoothing, all called as ``model(x, graph) -> logits``: see :mod:`wavy.remedies.models`.

Some change DIFFormer's residual or norm, others are networks of their own. All share the input layer, the width and the
readout, so that a table of them compares what stands between.
"""
