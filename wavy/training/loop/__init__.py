"""One training loop for language and vision, on Accelerate: one process or several, killed and resumed bit for bit."""

from wavy.training.loop.finite import NonFinite
from wavy.training.loop.fitting import Fit, fit
from wavy.training.loop.options import Recipe, Setup
from wavy.training.loop.tasks import ClassTask, NumberTask, Task, TokenTask

__all__ = ["ClassTask", "Fit", "NonFinite", "NumberTask", "Recipe", "Setup", "Task", "TokenTask", "fit"]
