"""One training loop for language and vision, on Accelerate: one process or several, killed and resumed bit for bit.

::

    recipe = Recipe(steps=10_000, batch_size=64, lr=5e-5, warmup=1_000)
    setup = Setup(folder="runs/bert-light", checkpoint_every=500, evaluate_every=500)
    found = fit(model, TokenTask(causal=False), texts, recipe, setup, validation=held_out)

The same script runs alone, or in many processes by ``accelerate launch script.py`` and ``torchrun script.py``.
"""

from wavy.training.loop.finite import NonFinite
from wavy.training.loop.fitting import Fit, fit
from wavy.training.loop.options import Recipe, Setup
from wavy.training.loop.tasks import ClassTask, NumberTask, Task, TokenTask

__all__ = ["ClassTask", "Fit", "NonFinite", "NumberTask", "Recipe", "Setup", "Task", "TokenTask", "fit"]
