"""Weights from the internet: a server on this machine that breaks off, lies, or is not there."""

import hashlib
import io

import pytest
from file_server import nowhere, serving
from goldens.oracle import ENGINE

import autolab as torch

pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own downloads")


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("autolab.hub._chosen_dir", None)
    with serving({}, monkeypatch) as running:
        yield running


def checkpoint():
    buffer = io.BytesIO()
    torch.save({"w": torch.arange(50_000.0)}, buffer)
    return buffer.getvalue()


def named(content):
    return f"net-{hashlib.sha256(content).hexdigest()[:8]}.pth"


def test_fetched_once_into_pytorchs_folder(server, tmp_path, capsys):
    name = named(checkpoint())
    server.files[name] = checkpoint()
    for _ in range(2):
        found = torch.hub.load_state_dict_from_url(server.url + name, check_hash=True)
        assert found["w"][-1].item() == 49_999.0
    assert [path.name for path in (tmp_path / "home" / "hub" / "checkpoints").iterdir()] == [name]
    assert len(server.log) == 1
    shown = capsys.readouterr()
    assert (
        shown.out.startswith(f'Downloading: "{server.url}{name}" to ')
        and f"{name}: 100%" in shown.err
    )


def test_a_wrong_checksum(server, tmp_path):
    server.files["net-0123abcd.pth"] = checkpoint()
    digest = hashlib.sha256(checkpoint()).hexdigest()
    with pytest.raises(
        RuntimeError, match=f'invalid hash value .expected "0123abcd", got "{digest}"'
    ):
        torch.hub.load_state_dict_from_url(server.url + "net-0123abcd.pth", check_hash=True)
    assert not [*(tmp_path / "home" / "hub" / "checkpoints").iterdir()]


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>Please log in", b"\n <html><body>404"])
def test_a_web_page_instead(server, tmp_path, page):
    server.files["a.pth"] = page
    with pytest.raises(RuntimeError, match="answered with a web page instead of a file") as caught:
        torch.hub.load_state_dict_from_url(server.url + "a.pth")
    assert any("login page" in note for note in caught.value.__notes__)
    assert not [*(tmp_path / "home" / "hub" / "checkpoints").iterdir()]


def test_offline_and_not_found(server, tmp_path):
    dead = f"{nowhere()}a.pth"
    for url, words in (
        (dead, "urlopen error"),
        (server.url + "a.pth", "HTTP Error 404: Not Found"),
    ):
        with pytest.raises(RuntimeError, match=f"Error downloading {url}: .*{words}") as caught:
            torch.hub.load_state_dict_from_url(url)
        note = caught.value.__notes__[0]
        place = tmp_path / "home" / "hub" / "checkpoints" / "a.pth"
        assert "Is this computer online?" in note and url in note and str(place) in note
    place.write_bytes(checkpoint())
    assert torch.hub.load_state_dict_from_url(dead)["w"].numel() == 50_000, "put there by hand"


def test_the_folder(monkeypatch, tmp_path):
    hub = torch.hub
    monkeypatch.setattr("autolab.hub._chosen_dir", None)
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert hub.get_dir() == str(tmp_path / "cache" / "torch" / "hub")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / ".cache" / "torch" / "hub")
    hub.set_dir(tmp_path / "x")
    assert hub.get_dir() == str(tmp_path / "x")


def test_download_url_to_file(server, tmp_path):
    server.files["a"] = b"content"
    torch.hub.download_url_to_file(server.url + "a", tmp_path / "b", progress=False)
    server.files["a"] = b"newer"
    torch.hub.download_url_to_file(server.url + "a", tmp_path / "b", progress=False)
    assert (tmp_path / "b").read_bytes() == b"newer"
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file(server.url + "a", tmp_path / "c", "abcd", progress=False)
    assert not (tmp_path / "c").exists()


def test_models_with_their_code_are_not_loaded():
    for name in ("load", "list", "help"):
        with pytest.raises(
            AttributeError, match=f"module 'torch.hub' has no attribute '{name}'"
        ) as caught:
            getattr(torch.hub, name)
        assert "would run code from a repository" in caught.value.__notes__[0]
    assert not hasattr(torch.hub, "no_such_thing")
