"""Fetching corpora, from a small server."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from keywright.cli import app
from keywright.corpora import fetch as fetching
from keywright.corpora.fetch import Corpus, File, choose, fetch
from keywright.data.documents import read_documents
from keywright.errors import DataError, KeywrightError

LINES = "".join(
    json.dumps({"id": str(n), "title": f"Pumps {n}", "abstract": "Heat.", "keyphrases": ["heat"]})
    + "\n"
    for n in range(50)
).encode()
DIGEST = hashlib.sha256(LINES).hexdigest()


@dataclass
class Site:
    """A server of one file. It may end its answers early, or ignore ranges."""

    address: str = ""
    most: int = len(LINES)  # bytes of an answer
    ranges: bool = True
    asked: list[str | None] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            made.asked.append(wanted)
            start = int(wanted[6:-1]) if wanted and made.ranges else 0
            if self.path != "/test.jsonl":
                self.send_error(404)
                return
            if start >= len(LINES):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(LINES) - start))
            self.end_headers()
            self.wfile.write(LINES[start : start + made.most])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


def corpus(site: Site) -> Corpus:
    return Corpus("Small", "CC0", "https://example.org", site.address)


def test_a_file_is_fetched_once(site: Site, tmp_path: Path) -> None:
    sizes: list[int] = []
    file = File("test.jsonl", 0.1, documents=50, sha256=DIGEST)
    found = fetch(corpus(site), file, tmp_path / "new" / "small", sizes.append)
    assert (found.documents, found.expected, found.sha256) == (50, 50, DIGEST)
    assert found.path.read_bytes() == LINES
    assert sizes[-1] == len(LINES)
    fetch(corpus(site), file, tmp_path / "new" / "small")
    assert site.asked == [None]
    assert [path.name for path in found.path.parent.iterdir()] == ["test.jsonl"]


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_continues(site: Site, tmp_path: Path, ranges: bool) -> None:
    site.most, site.ranges = 1000, ranges
    file = File("test.jsonl", 0.1, sha256=DIGEST)
    with pytest.raises(DataError, match="the same command continues"):
        fetch(corpus(site), file, tmp_path)
    assert not (tmp_path / "test.jsonl").exists()
    site.most = len(LINES)
    assert fetch(corpus(site), file, tmp_path).path.read_bytes() == LINES
    assert site.asked == [None, "bytes=1000-"]


def test_a_download_that_was_complete_but_not_named_is_kept(site: Site, tmp_path: Path) -> None:
    (tmp_path / f"test.jsonl{fetching.UNFINISHED}").write_bytes(LINES)
    assert fetch(corpus(site), File("test.jsonl", 0.1), tmp_path).path.read_bytes() == LINES


def test_another_checksum_is_refused_and_nothing_is_left(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"SHA-256 {DIGEST} instead of 00"):
        fetch(corpus(site), File("test.jsonl", 0.1, sha256="00"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_and_no_network_are_one_line(site: Site, tmp_path: Path) -> None:
    for place, reason in ((corpus(site), "404"), (Corpus("", "", "", "http://127.0.0.1:9"), "")):
        with pytest.raises(DataError, match=f"cannot be fetched from .*{reason}") as caught:
            fetch(place, File("none.jsonl", 1), tmp_path)
        assert "\n" not in str(caught.value)
        assert "by hand" in str(caught.value)


def test_every_entry_of_the_catalogue_can_be_chosen_or_says_why_not() -> None:
    for name, entry in fetching.catalogue().items():
        assert entry.homepage.startswith("https://")
        if entry.address is None:
            with pytest.raises(DataError, match="no plain address"):
                choose(name)
        else:
            assert entry.address.startswith("https://")
            assert choose(name)[1] == entry.files != ()


def test_unknown_corpora_and_files_are_refused() -> None:
    with pytest.raises(KeywrightError, match="kptimes"):
        choose("kptime")
    with pytest.raises(KeywrightError, match=r"dev\.jsonl"):
        choose("kptimes", ["valid.jsonl"])


def test_the_command_lists_and_fetches(
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    app(["data", "fetch"], standalone_mode=False)
    listed = capsys.readouterr().out
    assert "kpbiomed" in listed
    assert "CC BY-NC 4.0" in listed
    small = Corpus(
        "Small", "CC0", "https://example.org", site.address, (File("test.jsonl", 1, 51),)
    )
    monkeypatch.setattr(fetching, "catalogue", lambda: {"small": small})
    app(["data", "fetch", "small", "--output", str(tmp_path)], standalone_mode=False)
    printed = capsys.readouterr()
    assert f"50 documents, SHA-256 {DIGEST}" in printed.out
    assert "its publisher states 51 documents" in printed.err


@pytest.mark.parametrize(
    "record",
    [
        {"id": "1", "title": "A", "abstract": "B c.", "keyphrases": ["c"], "prmu": ["P"]},
        {"id": 1, "title": "A", "abstract": "B c.", "keyword": "c;d", "date": "2017/01/01"},
        {"url": "http://a", "text": "B c.", "VDOM": "[]", "KeyPhrases": [["c"], ["d", "e"]]},
    ],
    ids=["KPBiomed", "KPTimes", "OpenKP"],
)
def test_corpora_are_read_as_they_are_published(record: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    [document] = read_documents(tmp_path / "test.jsonl")
    assert document.body == "B c."
    assert document.keyphrases is not None
    assert document.keyphrases[0] == "c"
