"""The page in a real browser, with a stub server that answers like the service."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import CONTRAST, EXECUTABLE, Page, browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium is installed"),
]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILES = {
    "/": ("index.html", "text/html"),
    "/assets/app.js": ("app.js", "text/javascript"),
    "/assets/style.css": ("style.css", "text/css"),
    "/assets/mark.svg": ("mark.svg", "image/svg+xml"),
}
HOSTILE = "<img src=x onerror='window.broken = 1'><script>window.broken = 1</script>"
# The first character is two UTF-16 units, so that unconverted places would be wrong.
TEXT = (
    "🦇 Bats and moths\n"
    "A bat finds a resting moth by its echo. Leaves send the echo\n"
    f"away & hide the resting moth. {HOSTILE}"
)


def places(phrase: str) -> list[list[int]]:
    starts = [at for at in range(len(TEXT)) if TEXT.startswith(phrase, at)]
    return [[start, start + len(phrase)] for start in starts]


def present(phrase: str, probability: float | None) -> dict[str, Any]:
    return {
        "text": phrase, "probability": probability, "present": True,
        "places": places(phrase), "evidence": None, "stated": False,
    }  # fmt: skip


def absent(phrase: str, probability: float | None, evidence: str | None) -> dict[str, Any]:
    return {
        "text": phrase, "probability": probability, "present": False,
        "places": [], "evidence": evidence, "stated": False,
    }  # fmt: skip


PHRASES = [
    present("resting moth", 0.9),
    present("moth", 0.7),
    absent('acoustic, "masking"', 0.6, "Leaves send the echo away & hide the resting moth."),
    present("echo", 0.396),
    absent("R&D_1", 0.2, None),
]


def answer(phrases: list[dict[str, Any]]) -> dict[str, Any]:
    document = {
        "id": None, "title": "🦇 Bats and moths", "text": TEXT, "keyphrases": phrases,
        "warnings": ["The text is very short."],
    }  # fmt: skip
    return {"documents": [document], "model": "default"}


class Stub(BaseHTTPRequestHandler):
    """Chooses its answer by words in the request, and records all requests."""

    asked: list[tuple[str, bytes]]

    def do_GET(self) -> None:
        if self.path not in FILES:
            self._reply(404, b"", "text/plain")
            return
        name, kind = FILES[self.path]
        page = files("keywright.serving") / "page" / name
        self._reply(200, page.read_bytes(), f"{kind}; charset=utf-8")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append((self.path, body))
        if b"overloaded" in body:
            error = {"code": "busy", "message": "The queue is full"}
            self._json(503, {"error": error}, {"Retry-After": "7"})
        elif b"proxy" in body:
            self._reply(502, b"<h1>Bad gateway</h1>", "text/html")
        elif b"locked" in body and self.headers["Authorization"] != "Bearer open sesame":
            self._json(401, {"error": {"code": "unauthorized", "message": "A key is needed."}})
        elif b"nothing" in body:
            self._json(200, answer([]))
        elif b"unsure" in body:
            self._json(200, answer([present("moth", None)]))
        elif b"several" in body:
            other = answer([present("echo", 0.5)])["documents"]
            self._json(200, {**answer(PHRASES), "documents": answer(PHRASES)["documents"] + other})
        else:
            self._json(200, answer(PHRASES))

    def _json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self._reply(status, json.dumps(value).encode(), "application/json", headers)

    def _reply(
        self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


@pytest.fixture(scope="module")
def asked() -> list[tuple[str, bytes]]:
    return []


@pytest.fixture(scope="module")
def address(asked: list[tuple[str, bytes]]) -> Iterator[str]:
    handler = type("AskedStub", (Stub,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def tab(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        made.look(1200)
        made.send(
            "Browser.grantPermissions",
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=address,
        )  # fmt: skip
        made.send("Emulation.setFocusEmulationEnabled", enabled=True)  # the clipboard needs it
        yield made


@pytest.fixture
def page(tab: Page, address: str, asked: list[tuple[str, bytes]]) -> Page:
    tab.open(address)
    tab.complaints.clear()
    asked.clear()
    return tab


def wait(page: Page, condition: str) -> None:
    met = page.run(
        f"(async () => {{ for (let n = 0; n < 3000; n++) {{ if ({condition}) return true;"
        "await new Promise(done => setTimeout(done, 20)); } return false; })()"
    )
    assert met, f"never happened: {condition}"


def ask(page: Page, text: str = "a text") -> None:
    page.choose("#text", text)
    page.click("#ask button[type=submit]")
    wait(page, "!document.getElementById('answer').hidden")


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.firstChild.textContent)"
    )
    return found


def said(page: Page, selector: str) -> str:
    found: str = page.run(f"document.querySelector({json.dumps(selector)}).textContent")
    return found


def problem(page: Page, text: str) -> str:
    page.choose("#text", text)
    page.click("#ask button[type=submit]")
    wait(page, "!document.getElementById('problem').hidden")
    return said(page, "#problem")


def press(page: Page, key: str, code: int, modifiers: int = 0) -> None:
    for kind in ("keyDown", "keyUp"):
        page.send(
            "Input.dispatchKeyEvent",
            type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers,
            **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}),
        )  # fmt: skip


def test_a_pasted_text_gets_its_keyphrases(page: Page, asked: list[tuple[str, bytes]]) -> None:
    ask(page, "a bat & a 🦇")
    path, body = asked[0]
    assert path == "/v1/keyphrases"
    assert json.loads(body)["text"] == "a bat & a 🦇"
    assert texts(page, "#present .chip") == ["resting moth", "moth", "echo"]
    assert texts(page, "#absent .chip") == ['acoustic, "masking"', "R&D_1"]
    assert texts(page, "#absent q") == ["Leaves send the echo away & hide the resting moth."]
    assert texts(page, "#warnings li") == ["The text is very short."]
    assert page.complaints == []


def test_probable_phrases_are_larger(page: Page) -> None:
    ask(page)
    sizes = page.run(
        "[...document.querySelectorAll('#present .chip')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert sizes[0] > sizes[1] > sizes[2]


def test_present_phrases_are_marked_where_they_occur(page: Page) -> None:
    ask(page)
    assert said(page, "#reading") == TEXT.replace("echo\naway", "echo away")
    assert texts(page, "#reading a") == [
        "moth", "resting ", "moth", "echo", "echo", "resting ", "moth",
    ]  # fmt: skip


def test_hover_links_phrases_and_text_both_ways(page: Page) -> None:
    ask(page)
    hover(page, "#phrase-0")
    assert texts(page, "#reading .lit") == ["resting ", "moth", "resting ", "moth"]
    hover(page, "#reading a[href='#phrase-3']")
    assert texts(page, ".chip.lit") == ["echo"]
    hover(page, "h2")
    assert texts(page, ".lit") == []


def hover(page: Page, selector: str) -> None:
    x, y = page.run(
        f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
        "e.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def test_focus_links_phrases_and_text_both_ways(page: Page) -> None:
    ask(page)
    page.run("document.getElementById('phrase-3').focus()")
    assert texts(page, "#reading .lit") == ["echo", "echo"]
    page.run("document.querySelector(\"#reading a[href='#phrase-0']\").focus()")
    assert texts(page, ".chip.lit") == ["resting moth"]
    press(page, "Enter", 13)
    assert page.run("document.activeElement.id") == "phrase-0"


def test_clicks_on_a_chip_go_from_place_to_place(page: Page) -> None:
    ask(page)
    page.run("Element.prototype.scrollIntoView = function () { window.at = this; }")
    pieces = "[...document.querySelectorAll('#reading [data-phrases~=\"0\"]')]"
    went = []
    for _ in range(3):
        page.run("document.getElementById('phrase-0').click()")
        went.append(page.run(f"{pieces}.indexOf(window.at)"))
    assert went == [0, 2, 0]  # each place is in two pieces, since "moth" covers a part of it


def test_an_absent_phrase_highlights_its_sentence_across_lines(page: Page) -> None:
    ask(page)
    page.run("document.getElementById('phrase-2').focus()")
    lit = page.run("[...document.querySelectorAll('#reading .lit')].map(e => e.textContent)")
    assert "".join(lit) == "Leaves send the echo away & hide the resting moth."


FEW = "Authors list only a few of the phrases that fit: probably about {} of these."


def test_the_slider_filters_and_shows_how_many_an_author_would_choose(page: Page) -> None:
    ask(page)
    assert said(page, "#summary") == f"5 keyphrases. {FEW.format(3)}"
    page.choose("#least", "40")
    assert "echo" in texts(page, ".chip")  # its 39.6% is shown as 40%
    page.choose("#least", "65")
    assert texts(page, ".chip") == ["resting moth", "moth"]
    assert "echo" not in texts(page, "#reading a")
    assert said(page, "#summary") == f"2 keyphrases, 3 hidden. {FEW.format(2)}"
    page.choose("#least", "100")
    assert said(page, "#summary").startswith("No keyphrase is left")


def test_switches_select_present_and_absent(page: Page) -> None:
    ask(page)
    page.click("#show-present")
    assert texts(page, ".chip") == ['acoustic, "masking"', "R&D_1"]
    assert texts(page, "#reading a") == []
    page.click("#show-present")
    page.click("#show-absent")
    assert texts(page, ".chip") == ["resting moth", "moth", "echo"]


def copied(page: Page, kind: str) -> str:
    page.run("document.getElementById('copied').textContent = ''")
    page.click(f"[data-copy={kind}]")
    wait(page, "document.getElementById('copied').textContent")
    text: str = page.run("navigator.clipboard.readText()")
    return text


def test_what_is_shown_is_copied_in_every_format(page: Page) -> None:
    ask(page)
    page.choose("#least", "50")
    assert copied(page, "list").split("\n") == ["resting moth", "moth", 'acoustic, "masking"']
    assert said(page, "#copied") == "Copied 3 keyphrases."
    rows = list(csv.DictReader(io.StringIO(copied(page, "csv"))))
    assert rows[2] == {
        "keyphrase": 'acoustic, "masking"', "probability": "0.6", "present": "false",
    }  # fmt: skip
    assert json.loads(copied(page, "json")) == PHRASES[:3]
    page.choose("#least", "0")
    assert copied(page, "bibtex") == (
        'keywords = {resting moth, moth, acoustic, "masking", echo, R\\&D\\_1},'
    )


def test_without_a_clipboard_the_text_can_be_copied_by_hand(page: Page) -> None:
    ask(page)
    page.run("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    page.click("[data-copy=list]")
    wait(page, "!document.getElementById('by-hand').hidden")
    assert page.run("getSelection().toString()").split("\n")[0] == "resting moth"


def test_a_chosen_file_is_read(page: Page, asked: list[tuple[str, bytes]], tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 moths")
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(tmp_path / "paper.pdf")])
    wait(page, "!document.getElementById('answer').hidden")
    assert said(page, "#answer-title") == "Keyphrases of paper.pdf"
    path, body = asked[0]
    assert path == "/v1/keyphrases/file"
    assert b'name="file"; filename="paper.pdf"' in body
    assert b"%PDF-1.7 moths" in body


def test_a_dropped_file_is_read(page: Page, asked: list[tuple[str, bytes]]) -> None:
    page.run(
        "(() => { const data = new DataTransfer();"
        f"data.items.add(new File(['moths'], {json.dumps(HOSTILE)}));"
        "for (const kind of ['dragover', 'drop']) document.body.dispatchEvent("
        "new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true})); })()"
    )
    wait(page, "!document.getElementById('answer').hidden")
    assert said(page, "#answer-title") == f"Keyphrases of {HOSTILE}"
    assert page.run("document.getElementById('drop').hidden")
    assert [path for path, _ in asked] == ["/v1/keyphrases/file"]


def choose_files(page: Page, selector: str, *paths: Path) -> None:
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])


def test_several_files_give_a_table_to_download(
    page: Page, asked: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    for name, content in (("a.txt", "moths"), ("=b.txt", "moths"), ("c.txt", "overloaded")):
        (tmp_path / name).write_text(content)
    choose_files(page, "#file", *(tmp_path / name for name in ("a.txt", "=b.txt", "c.txt")))
    wait(page, "!document.getElementById('answer').hidden")
    assert len(asked) == 3
    assert said(page, "#answer-title") == "Keyphrases of 2 files"
    assert texts(page, "#file-rows th") == ["a.txt", "=b.txt"]
    assert texts(page, "#file-rows td")[0].startswith("resting moth; moth; ")
    assert said(page, "#problem").startswith("1 of 3 files could not be read. c.txt: The queue")
    page.run(
        "(() => { URL.createObjectURL = (blob) => { window.made = blob; return 'data:,'; };"
        "HTMLAnchorElement.prototype.click = function () { window.called = this.download; }; })()"
    )
    page.click("#download")
    assert page.run("window.called") == "keyphrases.csv"
    table = page.run("window.made.text()")
    rows = list(csv.DictReader(io.StringIO(table.removeprefix("\ufeff"))))
    assert [row["document"] for row in rows] == ["a.txt"] * 5 + ["'=b.txt"] * 5
    assert rows[2]["keyphrase"] == 'acoustic, "masking"'


def test_the_only_file_that_could_be_read_is_named(
    page: Page, asked: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    for name, content in (("a.txt", "moths"), ("c.txt", "overloaded")):
        (tmp_path / name).write_text(content)
    choose_files(page, "#file", tmp_path / "a.txt", tmp_path / "c.txt")
    wait(page, "!document.getElementById('answer').hidden")
    assert len(asked) == 2
    assert said(page, "#answer-title") == "Keyphrases of a.txt"


def test_no_two_landmarks_have_the_same_name(page: Page, asked: list[tuple[str, bytes]]) -> None:
    ask(page)
    names = page.run(
        "[...document.querySelectorAll('section, [role=region]')]"
        ".filter(e => e.checkVisibility()).map(e => e.getAttribute('aria-labelledby'))"
    )
    assert asked
    assert "reading-title" in names
    assert len(set(names)) == len(names)


def test_the_number_of_keyphrases_is_asked_for(page: Page, asked: list[tuple[str, bytes]]) -> None:
    ask(page)
    assert "top" not in json.loads(asked[0][1])  # as many as the command line returns
    page.choose("#number", "10")
    wait(page, "document.getElementById('busy').textContent === ''")
    assert [json.loads(body).get("top") for _, body in asked] == [None, 10]
    page.choose("#number", "0")
    wait(page, "document.getElementById('busy').textContent === ''")
    assert json.loads(asked[2][1])["top"] == 0


def test_own_tags_are_pasted_chosen_or_dropped(
    page: Page, asked: list[tuple[str, bytes]], tmp_path: Path
) -> None:
    page.choose("#vocabulary", " bats \n\nmoths\n")
    ask(page)
    assert json.loads(asked[0][1])["vocabulary"] == ["bats", "moths"]
    (tmp_path / "tags.csv").write_text('term,synonyms\n"echo location",sonar\nbats,\n')
    choose_files(page, "#vocabulary-file", tmp_path / "tags.csv")
    wait(page, "document.getElementById('vocabulary-said').textContent")
    assert page.run("document.getElementById('vocabulary').value") == "echo location\nbats"
    page.run(
        "(() => { const data = new DataTransfer();"
        "data.items.add(new File(['wings\\r\\nears\\r\\n'], 'tags.txt'));"
        "document.getElementById('vocabulary').dispatchEvent("
        "new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()"
    )
    wait(page, "document.getElementById('vocabulary').value.startsWith('wings')")
    (tmp_path / "a.txt").write_text("moths")
    choose_files(page, "#file", tmp_path / "a.txt")
    wait(page, "document.getElementById('answer-title').textContent.includes('a.txt')")
    path, body = asked[-1]
    assert path == "/v1/keyphrases/file"
    assert b'name="vocabulary"\r\n\r\nwings' in body


def test_results_come_before_the_filters_on_a_phone(page: Page) -> None:
    page.look(390)
    ask(page)
    top = "document.querySelector({!r}).getBoundingClientRect().top"
    places = [page.run(top.format(name)) for name in ("#present", "#absent", "#controls")]
    assert places == sorted(places)
    page.look(1200)


def test_the_example_needs_one_click(page: Page, asked: list[tuple[str, bytes]]) -> None:
    page.click("#example")
    wait(page, "!document.getElementById('answer').hidden")
    assert len(json.loads(asked[0][1])["text"].split()) > 100


def test_several_documents_can_be_selected(page: Page) -> None:
    ask(page, "several")
    page.choose("#which", "1")
    assert texts(page, ".chip") == ["echo"]


def test_missing_keyphrases_and_missing_probabilities_are_reported(page: Page) -> None:
    ask(page, "nothing")
    assert said(page, "#summary") == "No keyphrases were found in this text."
    page.click("#clear")
    ask(page, "unsure")
    wait(page, "document.querySelector('.chip')")
    assert said(page, "#summary") == "1 keyphrase. This model gives no probabilities."
    assert page.run("document.getElementById('least').disabled")


def test_problems_are_reported_in_words(page: Page) -> None:
    assert problem(page, "   ").startswith("There is no text yet.")
    ask(page)
    assert problem(page, "overloaded") == "The queue is full. Try again in 7 seconds."
    assert page.run("document.getElementById('answer').hidden")
    assert problem(page, "proxy") == "The service could not answer (status 502)."
    page.run("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    assert problem(page, "gone").startswith("The service does not answer.")


def test_a_service_with_keys_asks_for_one(page: Page) -> None:
    assert not page.run("document.getElementById('key').checkVisibility()")
    assert problem(page, "locked") == "A key is needed."
    assert page.run("document.activeElement.id") == "key"
    page.choose("#key", "open sesame")
    ask(page, "locked")
    assert page.run("document.getElementById('problem').hidden")


def test_everything_can_be_reached_with_the_keyboard(page: Page) -> None:
    page.run("document.getElementById('text').focus()")
    page.send("Input.insertText", text="moths")
    press(page, "Enter", 13, modifiers=2)
    wait(page, "document.activeElement.id === 'answer-title'")
    stops = []
    for _ in range(17):
        press(page, "Tab", 9)
        stops.append(
            page.run(
                "(e => e.id || e.dataset.copy || e.getAttribute('href'))(document.activeElement)"
            )
        )
    assert stops == [
        "phrase-0", "phrase-1", "phrase-3", "phrase-2", "phrase-4",
        "least", "show-present", "show-absent", "list", "csv", "json", "bibtex", "reading",
        "#phrase-1", "#phrase-0", "#phrase-3", "docs",  # once per phrase of the text
    ]  # fmt: skip


def test_every_control_has_an_accessible_name(page: Page) -> None:
    ask(page)
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    usable = {"button", "link", "textbox", "slider", "switch", "combobox", "region"}
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    assert usable - {"combobox"} <= set(roles)
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node["ignored"]
        and node["role"]["value"] in usable
        and not node["name"]["value"].strip()
    ]
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_the_page_fits_and_is_readable(page: Page, width: int, scheme: str) -> None:
    page.look(width, scheme=scheme)
    ask(page)
    page.run("document.getElementById('phrase-3').focus()")
    assert page.run("document.documentElement.scrollWidth") <= width
    contrasts = page.run(CONTRASTS)
    assert min(contrasts.values()) >= 4.5, contrasts
    page.look(1200)


def test_hostile_text_is_shown_but_not_executed(page: Page) -> None:
    ask(page)
    assert HOSTILE in said(page, "#reading")
    assert page.run("window.broken") is None
    assert page.run("document.querySelectorAll('#answer img, #answer script').length") == 0
    assert page.complaints == []


# The contrast of every piece of text with its background (WCAG 2.1).
CONTRASTS = (
    "(() => {"
    + CONTRAST
    + """
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    found[walker.currentNode.data.trim()] = contrast(element);
  }
  return found;
})()
"""
)
