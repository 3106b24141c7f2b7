"""GLUE's metrics: those of scikit-learn and scipy, defined for every prediction; and which epoch is kept."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from wavy.data.glue.tasks import TASKS
from wavy.training.glue_scores import METRICS, SELECTION_RULES, glue_average, glue_metrics, glue_score, selected_epoch

RNG = np.random.RandomState(0)
CLASSES, GUESSES = RNG.randint(0, 2, 200), RNG.randint(0, 2, 200)
SCORES, NUMBERS = RNG.uniform(0, 5, 200).round(1), RNG.normal(size=200).astype(np.float32)
EXPECTED = {
    "matthews": sk.matthews_corrcoef(CLASSES, GUESSES),
    "accuracy": sk.accuracy_score(CLASSES, GUESSES),
    "f1": sk.f1_score(CLASSES, GUESSES),
    "pearson": stats.pearsonr(SCORES, NUMBERS.astype(np.float64)).statistic,
    "spearman": stats.spearmanr(SCORES, NUMBERS).statistic,
}


def data_of(task):
    return (GUESSES, CLASSES) if TASKS[task].label_names else (NUMBERS, SCORES)


def test_every_task_has_metrics():
    assert list(METRICS) == list(TASKS)


@pytest.mark.parametrize("task", METRICS)
def test_metrics_are_those_of_the_libraries_and_the_score_is_their_mean(task):
    found = glue_metrics(task, *data_of(task))
    assert found == pytest.approx({metric: EXPECTED[metric] for metric in METRICS[task]}, abs=1e-12)
    assert glue_score(task, found) == pytest.approx(np.mean([EXPECTED[metric] for metric in METRICS[task]]))


@pytest.mark.parametrize("task", METRICS)
def test_a_perfect_prediction_scores_one(task):
    labels = data_of(task)[1]
    assert glue_score(task, glue_metrics(task, labels, labels)) == pytest.approx(1.0)


def test_f1_counts_class_one_and_matthews_both():
    labels, predictions = np.array([1, 1, 1, 0]), np.array([1, 1, 1, 1])
    assert glue_metrics("mrpc", predictions, labels) == {"accuracy": 0.75, "f1": pytest.approx(6 / 7)}
    assert glue_metrics("cola", predictions, labels) == {"matthews": 0.0}


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("task", [task for task in METRICS if task != "stsb"])
def test_predicting_one_class_is_scored_without_a_warning(task, constant):
    for labels in (CLASSES, np.zeros_like(CLASSES), np.ones_like(CLASSES)):
        found = glue_metrics(task, np.full_like(CLASSES, constant), labels)
        assert all(0 <= value <= 1 for value in found.values())


@pytest.mark.parametrize("number", [0.0, 2.5, 1e30, 0.1])
def test_constant_scores_have_no_correlation_and_give_no_warning(number):
    zero = {"pearson": 0.0, "spearman": 0.0}
    assert glue_metrics("stsb", np.full(200, number, dtype=np.float32), SCORES) == zero
    assert glue_metrics("stsb", NUMBERS, np.full(200, number)) == zero
    assert glue_metrics("stsb", NUMBERS[:1], SCORES[:1]) == zero


def test_almost_constant_scores_give_no_warning():
    found = glue_metrics("stsb", 1.0 + 1e-15 * np.arange(200), SCORES)
    assert all(-1 <= value <= 1 for value in found.values())


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        (np.zeros(3), np.zeros(4), r"found shape \(3,\) for labels of shape \(4,\)"),
        (np.zeros((3, 2)), np.zeros((3, 2)), r"allowed \(N,\)"),
        (np.zeros(0), np.zeros(0), r"allowed \(N,\)"),
        (np.array([0.0, np.nan]), np.zeros(2), "found NaN"),
    ],
)
def test_unusable_predictions_are_refused(predictions, labels, message):
    with pytest.raises(ValueError, match=message):
        glue_metrics("stsb", predictions, labels)


def test_the_average_is_over_all_tasks_that_are_named_and_never_over_fewer():
    scores = {task: 0.1 * k for k, task in enumerate(TASKS)}
    assert glue_average(scores) == pytest.approx(0.4)
    assert glue_average({"cola": 0.2, "rte": 0.6, "wnli": 9.0}, ["cola", "rte"]) == pytest.approx(0.4)
    with pytest.raises(ValueError, match="found none for qqp, mnli"):
        glue_average({task: 0.5 for task in TASKS if task not in ("qqp", "mnli")})
    with pytest.raises(ValueError, match="no task"):
        glue_average({}, [])


def published_loop(scores):
    """The loop of facts 3.13, written out: the best score starts at infinity, and a smaller one replaces it."""
    best, kept = np.inf, None
    for epoch, score in enumerate(scores):
        if score < best:
            best, kept = score, epoch
    return kept


@pytest.mark.parametrize("correlations", [[0.1, 0.5, 0.3], [0.5, 0.1, 0.1], [0.2], [0.4, 0.4], [-0.2, 0.0, 0.3]])
def test_the_published_rule_keeps_the_worst_epoch_of_stsb_and_the_best_rule_the_best(correlations):
    epochs = [{"pearson": r + 0.1, "spearman": r - 0.1} for r in correlations]
    assert selected_epoch("stsb", epochs, "published") == published_loop(correlations)
    assert selected_epoch("stsb", epochs, "best") == correlations.index(max(correlations))


def test_elsewhere_the_rules_agree():
    epochs = [{"matthews": 0.1}, {"matthews": 0.3}, {"matthews": 0.2}]
    assert [selected_epoch("cola", epochs, rule) for rule in SELECTION_RULES] == [1, 1]


@pytest.mark.parametrize(("epochs", "found"), [([], "none"), ([{"accuracy": 0.5}, {"accuracy": np.nan}], "NaN")])
def test_no_epoch_is_chosen_from_nothing(epochs, found):
    with pytest.raises(ValueError, match=f"found {found}"):
        selected_epoch("rte", epochs, "best")


def test_unknown_names_are_refused():
    for call in (
        lambda: glue_metrics("imdb", CLASSES, CLASSES),
        lambda: glue_score("imdb", {}),
        lambda: selected_epoch("rte", [{"accuracy": 1.0}], "last"),
    ):
        with pytest.raises(ValueError, match=r"found '(imdb|last)', allowed "):
            call()


def test_a_prediction_between_classes_is_refused():
    with pytest.raises(
        ValueError, match=r"^predictions: found 0\.4, allowed classes, which are whole numbers, for rte$"
    ):
        glue_metrics("rte", [0.4, 1.0], [0, 1])
