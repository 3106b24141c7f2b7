"""How GLUE judges: the metrics of each task, one score a task, their average, and which epoch is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from wavy.checks import check_choice
from wavy.data.glue.tasks import TASKS

#: Task -> its metrics; the mean of them is its score. Matthews, Pearson and Spearman are in [-1, 1], others in [0, 1].
METRICS = {
    "cola": ("matthews",),
    "sst2": ("accuracy",),
    "mrpc": ("accuracy", "f1"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("accuracy", "f1"),
    "mnli": ("accuracy",),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
}
#: How the epoch of a run is chosen, see :func:`selected_epoch`.
SELECTION_RULES = ("best", "published")


def glue_metrics(task: str, predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Judge predictions by the metrics of a task.

    A metric that is not defined counts as 0: Matthews where one class alone is predicted, F1 where class 1 is neither
    predicted nor there, a correlation where all predicted scores are equal.

    Args:
        task: A key of :data:`METRICS`.
        predictions: (N,) classes; for stsb scores.
        labels: (N,) classes; for stsb scores from 0 to 5.

    Returns:
        Metric -> number, in the order of :data:`METRICS`.

    Raises:
        ValueError: An unknown task, arrays of two lengths or none, or a prediction that is not finite.
    """
    check_choice("task", task, METRICS)
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    if predictions.shape != labels.shape or predictions.ndim != 1 or not len(labels):
        raise ValueError(
            f"predictions: found shape {predictions.shape} for labels of shape {labels.shape}, allowed (N,) for both"
        )
    if not np.isfinite(predictions).all():
        raise ValueError("predictions: found NaN or an infinite number, allowed finite ones")
    if task != "stsb" and (broken := predictions[predictions != np.round(predictions)]).size:
        raise ValueError(f"predictions: found {broken[0]:g}, allowed classes, which are whole numbers, for {task}")
    return {metric: float(_MEASURES[metric](labels, predictions)) for metric in METRICS[task]}


def glue_score(task: str, metrics: Mapping[str, float]) -> float:
    """The one number of a task: the mean of its metrics.

    The metrics of mnli are those of one validation set. Runs here read the matched one; GLUE's own average takes the
    mean over both.

    Raises:
        ValueError: An unknown task.
    """
    check_choice("task", task, METRICS)
    return float(np.mean([metrics[metric] for metric in METRICS[task]]))


def glue_average(scores: Mapping[str, float], tasks: Sequence[str] = tuple(TASKS)) -> float:
    """The mean of the scores over tasks; over all nine it is GLUE's average, on validation data.

    Args:
        scores: Task -> score.
        tasks: Over which; name them where there are fewer than nine, so that no task is left out unseen.

    Raises:
        ValueError: A task without a score.
    """
    missing = [task for task in tasks if task not in scores]
    if missing or not tasks:
        raise ValueError(f"scores: found none for {', '.join(missing) or 'no task'}, allowed one for each of the tasks")
    return float(np.mean([scores[task] for task in tasks]))


def selected_epoch(task: str, epochs: Sequence[Mapping[str, float]], rule: str) -> int:
    """Which epoch of a run is kept, judged by its metrics on the validation data.

    * ``best``: the first with the highest score.
    * ``published``: for stsb the first with the *lowest* score, as the code that the authors published does: it
      starts from infinity and keeps an epoch whose score is smaller. Elsewhere the same as ``best``. Whether the
      paper's numbers came from that code is not known.

    Args:
        task: A key of :data:`METRICS`.
        epochs: The metrics after each epoch, as :func:`glue_metrics` returns them.
        rule: One of :data:`SELECTION_RULES`.

    Returns:
        The index of the epoch.

    Raises:
        ValueError: An unknown task or rule, no epoch, or a metric that is not a number.
    """
    check_choice("rule", rule, SELECTION_RULES)
    scores = np.array([glue_score(task, metrics) for metrics in epochs])
    if not len(scores) or np.isnan(scores).any():
        raise ValueError(f"epochs: found {'NaN' if len(scores) else 'none'}, allowed one or more with metrics")
    return int(scores.argmin() if rule == "published" and task == "stsb" else scores.argmax())


def _matthews(labels: np.ndarray, predictions: np.ndarray) -> float:
    return matthews_corrcoef(labels, predictions) if np.ptp(labels) and np.ptp(predictions) else 0.0


def _f1(labels: np.ndarray, predictions: np.ndarray) -> float:
    return f1_score(labels, predictions, zero_division=0.0)


def _correlation(measure: Callable) -> Callable[[np.ndarray, np.ndarray], float]:
    def correlate(labels: np.ndarray, predictions: np.ndarray) -> float:
        if len(labels) == 1:
            return 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.ConstantInputWarning)
            warnings.simplefilter("ignore", stats.NearConstantInputWarning)
            return float(np.nan_to_num(measure(labels, predictions.astype(np.float64)).statistic))

    return correlate


_MEASURES = {
    "matthews": _matthews,
    "accuracy": accuracy_score,
    "f1": _f1,
    "pearson": _correlation(stats.pearsonr),
    "spearman": _correlation(stats.spearmanr),
}
