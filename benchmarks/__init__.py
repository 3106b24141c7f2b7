"""What a wave costs beside the stock model, side by side on one machine: ``python -m benchmarks``."""
