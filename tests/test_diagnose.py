"""``wavy diagnose``: its numbers are those of the layer profile on the input that it names, and its faults one line."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_sample_images
from typer.main import get_command
from typer.testing import CliRunner

from conftest import ROOT
from loading_kit import bert, difformer, vit
from wavy.cli import app
from wavy.data import load_graph
from wavy.diagnostics import dirichlet_energy, layer_profile
from wavy.hosts.difformer import DIFFormer
from wavy.hosts.transformer import Transformer
from wavy.loading import load_any, save
from wavy.loading.loaded import ImageInput, LoadedModel, TextInput
from wavy.samples import Source, sample_for
from wavy.samples.profile import FACTS, model_profile
from wavy.training.graph import prepare_graph

timm = pytest.importorskip("timm")
transformers = pytest.importorskip("transformers")

MEASURES = ["cosine", "dirichlet_energy", "node_variance", "effective_rank"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "pond", "is", "still", "and", "a", "wave", "keeps"]


def diagnose(*arguments, status=0):
    result = CliRunner().invoke(app, ["diagnose", *map(str, arguments)])
    assert result.exit_code == status, result.output
    return result


def refused(*arguments):
    """The one line of a wrong call."""
    result = diagnose(*arguments, status=2)
    (line,) = result.stderr.splitlines()
    assert line.startswith("wavy: ")
    return line


def same(rows, profile):
    pd.testing.assert_frame_equal(rows.drop(columns=FACTS), profile, rtol=1e-6)


def sampled(model, source=None, limit=16, random=False):
    """A loaded model and its sample."""
    loaded = load_any(model, random=random)
    return loaded, sample_for(loaded, source or Source(), limit)


@pytest.fixture
def vit_folder(tmp_path):
    folder = tmp_path / "vit"
    timm.models.save_for_hf(vit(), folder, model_args={"img_size": 16}, safe_serialization=True)
    return folder


@pytest.fixture
def bert_folder(tmp_path):
    """A model with a tokenizer of a few words."""
    folder = tmp_path / "bert"
    bert(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.fixture
def photos(tmp_path):
    """Three images, of which one lies in a subfolder, and a file that only looks like one."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    Image.effect_noise((40, 30), 60).convert("RGB").save(folder / "b.png")
    Image.effect_noise((30, 40), 60).save(folder / "more" / "grey.jpg")
    Image.effect_noise((20, 20), 60).convert("RGBA").save(folder / "c.PNG")
    (folder / "a.png").write_text("no image", encoding="utf-8")
    (folder / "notes.txt").write_text("no image", encoding="utf-8")
    return folder


# numbers


def test_images_are_measured_as_the_model_wants_them(tmp_path, vit_folder, photos):
    result = diagnose(vit_folder, "--images", photos, "--csv", tmp_path / "out.csv")
    model = timm.create_model(f"local-dir:{vit_folder}", pretrained=True)
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model) | {"input_size": (3, 16, 16)})
    files = ["b.png", "c.PNG", "more/grey.jpg"]
    batch = torch.stack([transform(Image.open(photos / file).convert("RGB")) for file in files])
    same(pd.read_csv(tmp_path / "out.csv"), layer_profile(model, batch))
    assert f"wavy: {photos / 'a.png'} cannot be read as an image and is left out\n" == result.stderr
    assert f"saved weights; 3 images of {photos}" in result.stdout
    limited = model_profile(*sampled(vit_folder, Source(images=photos), limit=2))
    same(limited, layer_profile(model, batch[:2]))


def test_without_images_two_photographs_are_taken(vit_folder):
    loaded, sample = sampled(vit_folder)
    photographs = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    assert torch.equal(sample.inputs[0], loaded.takes.prepare(photographs))
    assert sample.description == "2 photographs that come with scikit-learn"


def test_text_is_measured_in_pieces_without_padding(tmp_path, bert_folder):
    text = " ".join([*WORDS[4:], "nothing"] * 3)
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    diagnose(bert_folder, "--text", tmp_path / "book.txt", "--length", 9, "--csv", tmp_path / "out.csv")
    plain = ([4, 5, 6, 7, 8, 9, 10, 11, 1] * 3)[:21]
    pieces = torch.tensor([[2, *plain[start : start + 7], 3] for start in (0, 7, 14)])
    model = transformers.AutoModel.from_pretrained(bert_folder)
    rows = pd.read_csv(tmp_path / "out.csv")
    same(rows, layer_profile(model, pieces))
    assert set(rows["input"]) == {f"3 x 9 tokens of {tmp_path / 'book.txt'}"}


def test_without_text_a_passage_is_taken_and_without_tokenizer_random_ids(tmp_path, bert_folder):
    _, sample = sampled(bert_folder)
    assert sample.inputs[0].shape == (16, 20)
    assert sample.description == "16 x 20 tokens of a built-in passage of English"
    assert {row[0] for row in sample.inputs[0].tolist()} == {2}
    bert(tmp_path / "bare")
    _, sample = sampled(tmp_path / "bare", limit=50)
    assert set(sample.inputs[0].flatten().tolist()) == set(range(1, 30))  # all ids but the padding
    assert "random ids" in sample.description
    assert torch.equal(sampled(tmp_path / "bare", limit=50)[1].inputs[0], sample.inputs[0])


def test_a_length_is_not_more_than_the_model_has():
    loaded = LoadedModel("mine", torch.nn.Identity(), "random weights", TextInput(vocabulary=9, longest=7))
    assert sample_for(loaded, Source()).inputs[0].shape == (16, 7)
    assert sample_for(loaded, Source(), length=3).inputs[0].shape == (16, 3)


def test_a_graph_is_measured_as_it_is_trained_on(tmp_path):
    model = DIFFormer(64, 4, 10, num_layers=3, residual="full").double()
    save(model, tmp_path / "model")
    diagnose(tmp_path / "model", "--csv", tmp_path / "out.csv")
    data = prepare_graph(load_graph("digits"), "random", 0)
    same(pd.read_csv(tmp_path / "out.csv"), layer_profile(model, data.x.double(), data.edge_index))


def test_the_books_transformer_sees_the_digits(tmp_path):
    save(Transformer(4, 16, 8, 10, 3, residual="light"), tmp_path)
    profile = model_profile(*sampled(tmp_path))
    assert profile["tokens"].tolist() == [16] * 4
    assert profile["module"].tolist() == ["start", "blocks.0", "blocks.1", "blocks.2"]


@pytest.mark.parametrize("name", ["test_resnet", "pit_ti_224"])
def test_a_model_of_stages_has_a_row_a_stage(name):
    loaded, sample = sampled(name, random=True)
    profile = model_profile(loaded, sample)
    model = loaded.model.model.eval()
    maps = model.forward_intermediates(sample.inputs[0], intermediates_only=True)
    states = [each.detach().double().flatten(2).transpose(1, 2) for each in maps]
    assert profile["tokens"].tolist() == [state.shape[1] for state in states]
    assert profile["dirichlet_energy"].tolist() == pytest.approx([dirichlet_energy(x).mean().item() for x in states])


def test_tokens_within_a_patch_do_not_pass_for_the_tokens_of_an_image():
    loaded = load_any("tnt_s_patch16_224", {"depth": 2}, random=True)
    profile = model_profile(loaded, sample_for(loaded, Source(), limit=1))
    assert profile["tokens"].tolist() == [196, 196]


def test_the_same_call_gives_the_same_numbers_and_another_seed_others(tmp_path):
    options = ["vit_tiny_patch16_224", "--random", "-p", "img_size=16", "-p", "patch_size=8", "-p", "depth=2"]
    tables = [diagnose(*options, "--seed", seed).stdout for seed in (0, 0, 1)]
    assert tables[0] == tables[1]
    assert tables[0].splitlines()[2:] != tables[2].splitlines()[2:]
    assert "random weights, seed 1" in tables[2]
    assert "vit_tiny_patch16_224 (img_size=16, patch_size=8, depth=2)" in tables[0]


# what is written


def test_the_table_shows_every_row_with_four_digits(vit_folder):
    profile = model_profile(*sampled(vit_folder))
    heading, *table = diagnose(vit_folder).stdout.splitlines()
    assert heading == f"{vit_folder}, saved weights; 2 photographs that come with scikit-learn"
    assert table[0].split() == ["layer", "module", "tokens", *MEASURES]
    for line, row in zip(table[1:3], profile.to_dict("records"), strict=True):
        layer, module, tokens, *numbers = line.split()
        assert (int(layer), module, int(tokens)) == (row["layer"], row["module"], row["tokens"])
        assert [float(number) for number in numbers] == pytest.approx([row[name] for name in MEASURES], rel=1e-3)


@pytest.mark.parametrize("name", ["out.png", "out.svg", "out.pdf"])
def test_two_models_stand_in_one_file(tmp_path, vit_folder, name):
    other = tmp_path / "other"
    timm.models.save_for_hf(vit(depth=3), other, model_args={"img_size": 16, "depth": 3}, safe_serialization=True)
    diagnose(vit_folder, "--against", other, "--csv", tmp_path / "out.csv", "--plot", tmp_path / name)
    rows = pd.read_csv(tmp_path / "out.csv")
    diagnose(vit_folder, "-p", "drop_rate=0.1", "--against", vit_folder)
    assert rows.groupby("model", sort=False).size().to_dict() == {str(vit_folder): 2, str(other): 3}
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]]
    assert (tmp_path / name).read_bytes().startswith(start)


# wrong calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_model"], "found no model"),
        (["vit", "--images", "nowhere"], "images: found nothing at nowhere, allowed a folder"),
        (["vit", "--images", "file.txt"], "images: found a file"),
        (["vit", "--images", "empty"], "images: found no image in empty"),
        (["vit", "--images", "broken"], "images: found 1 that cannot be read in broken"),
        (["vit", "--text", "file.txt"], "found --text for a model that takes images, allowed --images"),
        (["vit", "--length", "4"], "found --length for a model that takes images"),
        (["bert", "--graph", "digits"], "found --graph for a model that takes text, allowed --text and --length"),
        (["bert", "--text", "nowhere"], "text: nowhere cannot be read"),
        (["bert", "--text", "latin.txt"], "text: latin.txt is not UTF-8"),
        (["bert", "--text", "empty.txt"], "text: found 0 tokens"),
        (["bert", "--text", "file.txt", "--length", "15"], "text: found 2 tokens, allowed enough for one piece of 15"),
        (["bert", "--length", "21"], "length: found 21, allowed 2 to 20"),
        (["bert", "--length", "1"], "length: found 1, allowed 2 to 20"),
        (["bare", "--text", "file.txt"], "text: found no tokenizer"),
        (["difformer", "--graph", "nothing"], "found 'nothing'"),
        (["difformer"], "graph: found 64 features a node in digits, allowed the 5 that the model takes"),
        (["vit", "--against", "vit"], "--against: found vit again"),
        (["vit", "-p", "depth"], "-p: found 'depth', allowed NAME=VALUE"),
        (["vit", "-p", "depth=1", "-p", "depth=2"], "-p: found 'depth=2'"),
        (["vit", "--plot", "out.jpeg"], "--plot: found out.jpeg, allowed a name that ends in .png"),
        (["vit", "--plot", "nowhere/out.png"], "--plot: found no folder nowhere"),
        (["vit", "--csv", "nowhere/out.csv"], "--csv: found no folder nowhere"),
        (["vit", "--csv", "empty"], "empty: cannot be written"),
        (["vit", "-p", "norm_layer=abc"], "cannot be built with norm_layer=abc (KeyError"),
        (["vit", "-p", "num_heads=0", "--random"], "cannot be built with num_heads=0 (ZeroDivisionError"),
        (["vit", "-p", "num_heads=-1", "--random"], "vit (num_heads=-1): does not run on images"),
        (["vit", "-p", "patch_size=0", "--random"], "cannot be built with patch_size=0 (ZeroDivisionError"),
        (["vit", "-p", "embed_dim=0", "--random"], "cannot be built with embed_dim=0"),
        (["vit", "-p", "pretrained=true"], "cannot be built with pretrained=True"),
        (["vit", "-p", "device=nothing"], "cannot be built with device=nothing"),
        (["vit", "-p", "checkpoint_path=/nonexistent"], "cannot be built with checkpoint_path=/nonexistent"),
        (["bare", "-p", "vocab_size=0", "--random"], "bare (vocab_size=0): transformers cannot load it"),
        (["bare", "-p", "vocab_size=1", "--random"], "text: found a vocabulary of 1, allowed one id or more"),
        (["convnet"], "hands on a state of shape (2, 4, 56, 56), allowed (B, N, d) with B = 2"),
        (["xlnet", "--limit", "3"], "XLNetLayer hands on a state of shape (128, 3, 8), allowed (B, N, d) with B = 3"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(tmp_path, monkeypatch, vit_folder, bert_folder, arguments, words):
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "broken"):
        (tmp_path / folder).mkdir()
    for name in ("file.txt", "broken/a.png"):
        (tmp_path / name).write_text("a pond", encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes("Straße".encode("latin-1"))
    (tmp_path / "empty.txt").write_bytes(b"")
    bert(tmp_path / "bare")
    save(difformer(), tmp_path / "difformer")
    resnet = transformers.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 2], layer_type="basic")
    transformers.ResNetModel(resnet).save_pretrained(tmp_path / "convnet")
    xlnet = transformers.XLNetConfig(vocab_size=9, d_model=8, n_layer=2, n_head=2, d_inner=8)
    transformers.XLNetModel(xlnet).save_pretrained(tmp_path / "xlnet")
    assert words in refused(*arguments)


def test_a_seed_that_no_generator_takes_is_refused(vit_folder):
    assert "--seed" in diagnose(vit_folder, "--seed", 2**64, status=2).stderr


def test_a_model_without_layers_or_with_trouble_of_its_own_is_told_in_one_line():
    def image_model(module):
        return LoadedModel("mine", module, "random weights", ImageInput(lambda images: torch.zeros(1, 3, 8, 8)))

    class Unused(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8)])

        def forward(self, x):
            return x

    for module, words in [
        (Unused(), r"mine: found layers that the model never calls"),
        (torch.nn.Conv2d(3, 4, 2), r"mine: cannot be measured .*no list of layers"),
        (torch.nn.Sequential(torch.nn.Linear(5, 5)), r"mine: cannot be measured .*mat1 and mat2"),
    ]:
        loaded = image_model(module)
        with pytest.raises(ValueError, match=words) as caught:
            model_profile(loaded, sample_for(loaded, Source()))
        assert "\n" not in str(caught.value)


def test_a_missing_plotting_library_is_told_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'matplotlib is missing; install the extra: pip install "wavy[book]"' in refused(
        tmp_path, "--plot", tmp_path / "out.png"
    )


def test_the_readme_uses_options_that_exist():
    commands = re.findall(r"^ +wavy diagnose (.*?)(?: +#.*)?$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    known = get_command(app).commands["diagnose"]
    assert len(commands) >= 4
    for command in commands:
        known.make_context("diagnose", command.split())


def test_help_defines_every_column_and_loads_no_library():
    text = diagnose("--help").stdout
    assert all(f" {name} " in text for name in ("layer", "module", "tokens", *MEASURES))
    heavy = "{'timm', 'transformers', 'pandas', 'matplotlib', 'torch_geometric', 'sklearn', 'torchvision'}"
    code = f"import sys, wavy.cli; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
