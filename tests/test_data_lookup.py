"""The look-up order of raw files, their checks, and a cache that stays whole."""

import logging
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from wavy import data
from wavy.data import cache, graphs, lookup
from wavy.data.cache import cache_folder, store
from wavy.data.lookup import checksums, read_files
from wavy.data.sources import DataUnavailable

FILES = {"set/a": b"content of a", "set/b": b"content of b", "other/ab": b"both in another form"}
PATHS, INSTEAD = ("set/a", "set/b"), ("other/ab",)


class Remote:
    """A pretended remote source that counts how often it is asked."""

    def __init__(self, label, contents, failure=None):
        self.label, self.contents, self.failure, self.asked = label, contents, failure, []

    def fetch(self, paths):
        self.asked.append(tuple(paths))
        for path in paths:
            if path in self.contents:
                yield path, self.contents[path]
        if self.failure:
            raise DataUnavailable(self.failure)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Give each test its own $WAVY_DATA and cache, and a table with the files above."""
    table = {path: sha256(content).hexdigest() for path, content in FILES.items()}
    monkeypatch.setattr(lookup, "checksums", lambda: table)
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WAVY_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path


def put(root, contents):
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def tree(root):
    files = (file for file in root.rglob("*") if file.is_file() and file.name != ".lock")
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def wanted(*names):
    return {name: FILES[name] for name in names}


def test_wavy_data_comes_first_and_nothing_else_is_asked_or_written(folders):
    put(folders / "data", wanted(*PATHS))
    remote = Remote("download", FILES)
    assert read_files(PATHS, [remote]) == (wanted(*PATHS), "$WAVY_DATA")
    assert remote.asked == []
    assert not (folders / "cache").exists()


def test_wavy_data_is_never_written(folders):
    put(folders / "data", {"set/a": b"damaged"})
    read_files(PATHS, [Remote("download", FILES)])
    assert tree(folders / "data") == {"set/a": b"damaged"}


def test_what_is_fetched_once_comes_from_the_cache_next(folders):
    remote = Remote("download", FILES)
    assert read_files(PATHS, [remote]) == (wanted(*PATHS), "download")
    assert read_files(PATHS, [remote]) == (wanted(*PATHS), "cache")
    assert remote.asked == [PATHS]
    assert tree(folders / "cache") == wanted(*PATHS)


def test_only_missing_files_are_asked_for_and_all_origins_are_named(folders):
    put(folders / "data", wanted("set/a"))
    remote = Remote("download", FILES)
    assert read_files(PATHS, [remote]) == (wanted(*PATHS), "$WAVY_DATA + download")
    assert remote.asked == [("set/b",)]


def test_the_next_source_is_asked_only_where_one_falls_short():
    first, second = Remote("download", wanted("set/a"), failure="gone"), Remote("wheel", FILES)
    assert read_files(PATHS, [first, second]) == (wanted(*PATHS), "download + wheel")
    assert second.asked == [("set/b",)]
    third = Remote("wheel", FILES)
    read_files(PATHS, [Remote("download", FILES), third])
    assert third.asked == []


@pytest.mark.parametrize("place", ["data", "cache"])
def test_a_wrong_file_is_never_used_and_this_is_said(folders, caplog, place):
    put(folders / place, {"set/a": b"damaged", "set/b": FILES["set/b"]})
    with caplog.at_level(logging.INFO, "wavy.data"):
        contents, _ = read_files(PATHS, [Remote("download", FILES)])
    assert contents == wanted(*PATHS)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    label = "$WAVY_DATA" if place == "data" else "cache"
    assert warnings == [f"{label}: set/a has a wrong sha256 and is not used"]
    assert tree(folders / "cache")["set/a"] == FILES["set/a"]
    assert ("cache: replaced set/a" in caplog.messages) == (place == "cache")


def test_a_truncated_download_is_not_stored(folders):
    with pytest.raises(DataUnavailable, match="download: set/a has a wrong sha256"):
        read_files(PATHS, [Remote("download", {"set/a": FILES["set/a"][:-1], "set/b": FILES["set/b"]})])
    assert tree(folders / "cache") == wanted("set/b")


def test_another_form_serves_when_it_is_complete_first(folders):
    wheel = Remote("wheel", wanted(*INSTEAD))
    assert read_files(PATHS, [Remote("download", {}, failure="gone"), wheel], INSTEAD) == (wanted(*INSTEAD), "wheel")
    unasked = Remote("download", FILES)
    assert read_files(PATHS, [unasked], INSTEAD) == (wanted(*INSTEAD), "cache")
    assert unasked.asked == []
    put(folders / "data", wanted(*PATHS))
    assert read_files(PATHS, [unasked], INSTEAD) == (wanted(*PATHS), "$WAVY_DATA")


def test_the_error_is_one_line_with_every_reason_and_the_remedy(folders, monkeypatch):
    monkeypatch.delenv("WAVY_DATA")
    put(folders / "cache", {"set/a": b"damaged"})
    with pytest.raises(DataUnavailable) as caught:
        read_files(PATHS, [Remote("download", {}, failure="no route"), Remote("wheel", wanted("set/b"))])
    message = str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    assert "\n" not in message
    reasons = ["$WAVY_DATA: not set", "cache: set/a has a wrong sha256", "download: no route", "wheel: not there"]
    for part in ["set/a (1 of 2 files", *reasons, "set WAVY_DATA"]:
        assert part in message


@pytest.mark.parametrize("variable", ["WAVY_DATA", "WAVY_CACHE"])
def test_a_relative_folder_is_refused(monkeypatch, variable):
    monkeypatch.setenv(variable, "some/folder")
    with pytest.raises(ValueError, match=f"{variable} must be an absolute path, found 'some/folder'"):
        read_files(PATHS, [])


def test_a_folder_that_is_not_there_is_a_reason(folders, monkeypatch):
    monkeypatch.setenv("WAVY_DATA", str(folders / "absent"))
    with pytest.raises(DataUnavailable, match=r"\$WAVY_DATA: no such folder"):
        read_files(PATHS, [])


def test_without_wavy_cache_the_users_cache_folder_is_used(monkeypatch):
    monkeypatch.delenv("WAVY_CACHE")
    monkeypatch.setattr(cache.platformdirs, "user_cache_dir", lambda name: f"/users/cache/{name}")
    assert str(cache_folder()) == "/users/cache/wavy"


def test_a_cache_that_cannot_be_written_costs_no_data(folders, caplog):
    (folders / "cache").write_text("a file where the folder should be")
    assert read_files(PATHS, [Remote("download", FILES)]) == (wanted(*PATHS), "download")
    assert any("could not be stored" in message for message in caplog.messages)


def test_readers_at_the_same_time_fetch_each_file_once_and_all_get_it(folders):
    remote = Remote("download", FILES)
    start = threading.Barrier(8)

    def read(_):
        start.wait()
        return read_files(PATHS, [remote])[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [wanted(*PATHS)] * 8
    assert remote.asked == [PATHS]
    assert tree(folders / "cache") == wanted(*PATHS)


def test_a_file_being_stored_is_seen_whole_or_not_at_all(folders):
    root, content = folders / "cache", b"x" * 2_000_000
    done = threading.Event()

    def write():
        for _ in range(20):
            store("set/a", content, root)
        done.set()

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write) for _ in range(2)]
        while not done.is_set():
            if (root / "set/a").exists():
                assert (root / "set/a").read_bytes() == content
        for writer in writers:
            writer.result()
    assert tree(root) == {"set/a": content}


def test_the_table_is_in_the_form_of_sha256sum():
    table = checksums()
    counts = Counter(path.split("/")[0] for path in table)
    expected = {"planetoid": 3 * 8, "linqs": 2, "graphs": 10 + 4, "gnn-benchmark": 4, "glue": 14, "images": 2 + 6}
    assert counts == counts | expected
    for path, digest in table.items():
        assert len(digest) == 64
        int(digest, 16)
        assert not path.startswith("/")
        assert ".." not in path


def test_texts_and_images_do_not_wait_for_the_import_of_pyg():
    modules = "wavy.data, wavy.data.glue, wavy.data.images, wavy.data.sizes, wavy.data.text"
    code = f"import sys, {modules}; print('torch_geometric' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_data_tells_what_it_has_and_what_it_has_not():
    assert set(data.__all__) <= set(dir(data))
    assert data.load_graph is graphs.load_graph
    with pytest.raises(AttributeError, match="has no attribute 'load_grap'"):
        data.load_grap  # noqa: B018
