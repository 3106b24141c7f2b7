"""Experiments and chapters: for each, one parameter class for the notebook, and one for a single run if it has runs.

The notebook's parameters cell, the command line's checks and help, and ``params_hash`` all derive from these classes.
"""

from wavy.experiments import chapters
from wavy.experiments.bert import BertStudy
from wavy.experiments.deit import DeitStudy
from wavy.experiments.difformer import DifformerStudy
from wavy.experiments.glue import GlueStudy
from wavy.experiments.gpt2 import Gpt2Study
from wavy.experiments.remedies import RemedyStudy
from wavy.experiments.signal import SignalStudy
from wavy.experiments.transformer import TransformerStudy

#: Notebook or experiment -> its parameter class.
EXPERIMENTS = {
    "bert": BertStudy,
    "deit": DeitStudy,
    "difformer": DifformerStudy,
    "glue": GlueStudy,
    "gpt2": Gpt2Study,
    "remedies": RemedyStudy,
    "signal": SignalStudy,
    "transformer": TransformerStudy,
    "oversmoothing": chapters.Oversmoothing,
    "diffusion": chapters.Diffusion,
    "symplectic": chapters.Symplectic,
    "velocity": chapters.Velocity,
    "residuals": chapters.Residuals,
    "diagnostics": chapters.Diagnostics,
    "hosts": chapters.Hosts,
    "collapse": chapters.Collapse,
    "efficiency": chapters.Efficiency,
    "trained": chapters.Trained,
}
