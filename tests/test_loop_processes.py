"""Two processes do what one does: DDP on the CPU, started by torch's own launcher."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("timm")
pytest.importorskip("transformers")

from accelerate.utils import DistributedType

import loop_processes
from launch_kit import launch, needs_gloo
from wavy.training.loop.sharding import check_version

pytestmark = needs_gloo


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("processes")
    launch(loop_processes.__file__, str(folder))
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


def _near(both, name, alone):
    """Compare a run of the two processes with one of this process."""
    one = loop_processes.found(loop_processes.ALIKE[alone])
    for history, evaluations, weights in (found[name] for found in both):
        assert np.allclose(history, one[0], rtol=1e-4)
        assert np.allclose(evaluations, one[1], rtol=1e-4)
        assert torch.allclose(weights, one[2], atol=2e-5)


@pytest.mark.parametrize("name", loop_processes.ALIKE)
def test_two_processes_find_what_one_finds(both, name):
    _near(both, name, name)


@pytest.mark.parametrize("name", loop_processes.ALIKE)
def test_both_processes_end_with_the_same(both, name):
    assert all(np.array_equal(one, other) for one, other in zip(both[0][name], both[1][name], strict=True))


def test_evaluation_takes_each_example_once_and_in_order(both):
    points = loop_processes.Points(23)
    expected = sum(place * points.x[place, 0].item() for place in range(23))
    for _, evaluations, _ in (found["evaluation"] for found in both):
        assert np.allclose(evaluations, [[6, 23, expected]])


def test_both_processes_go_on_bit_for_bit(both):
    assert [found["resumed"] for found in both] == [True, True]


@pytest.fixture
def sharded(both):
    if "sharded" not in both[0]:
        pytest.skip("this version of accelerate has no FSDP 2")
    return [found["sharded"] for found in both]


@pytest.mark.parametrize("case", loop_processes.SHARDED, ids=str)
def test_sharded_weights_learn_the_same(sharded, case):
    _near(sharded, case, case[0])


def test_the_first_version_of_fsdp_is_refused():
    configured = SimpleNamespace(distributed_type=DistributedType.FSDP, is_fsdp2=False)
    with pytest.raises(ValueError, match=r"^fsdp_version: found 1 in Accelerate's configuration, allowed 2$"):
        check_version(configured)


@pytest.mark.usefixtures("sharded")
def test_sharded_weights_go_on_bit_for_bit(both):
    assert [found["sharded resumed"] for found in both] == [True, True]


def test_what_one_process_finds_ends_both(both):
    (first, weights), (second, others) = (found["spoiled"] for found in both)
    assert first == second
    assert "found loss nan" in first
    assert torch.equal(weights, others)


@pytest.mark.usefixtures("sharded")
def test_sharded_weights_are_whole_also_where_the_loss_is_no_number(both):
    for (message, weights), (plain, expected) in ((found["sharded spoiled"], found["spoiled"]) for found in both):
        assert message == plain
        torch.testing.assert_close(weights, expected)


def test_a_batch_that_cannot_be_shared_is_refused(both):
    assert {found["uneven"] for found in both} == {"batch_size: found 7, allowed a multiple of the 2 processes"}


def test_checkpoints_that_one_process_does_not_see_are_noticed(both):
    expected = "folder: found checkpoints of steps [3, 0] by process, allowed a folder that all see"
    assert {found["apart"] for found in both} == {expected}


def test_one_process_reports(both):
    assert [len(found["lines"]) for found in both] == [1, 0]
