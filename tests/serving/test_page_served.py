"""The page in a real browser with the real service, without barriers found by axe-core."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterator

import pytest

from keywright import Keywright
from tests.chromium import BARRIERS, EXECUTABLE, Page, axe_script, browser
from tests.serving.test_page import ask, copied, hover, press, problem, said, texts, wait
from tests.serving.test_server import Server, serving
from tests.sources.pdf_maker import Text, make_pdf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium is installed"),
]

SCRIPT = "<img src=x onerror='window.broken = 1'><script>window.broken = 1</script>"
SENTENCES = (
    "Space debris threatens satellites in low Earth orbits.",
    "Drag sails remove space debris: a drag sail brings a dead satellite down.",
    "We simulate the atmospheric drag on a drag sail of ten square metres.",
)
TEXT = "\n".join(["Drag sails against space debris", *SENTENCES])
LONGEST = 20_000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--model", "default", "--max-characters", str(LONGEST)) as made:
        yield made


@pytest.fixture(scope="module")
def tab(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        made.send(
            "Browser.grantPermissions",
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=server.address,
        )  # fmt: skip
        made.send("Emulation.setFocusEmulationEnabled", enabled=True)
        yield made


@pytest.fixture
def page(tab: Page, server: Server) -> Page:
    tab.look(1200)
    tab.open(f"{server.address}/")
    tab.complaints.clear()
    return tab


def drop(page: Page, name: str, content: bytes) -> None:
    packed = base64.b64encode(content).decode()
    page.run(
        "(() => { const data = new DataTransfer();"
        f"const bytes = Uint8Array.from(atob({json.dumps(packed)}), c => c.charCodeAt(0));"
        f"data.items.add(new File([bytes], {json.dumps(name)}));"
        "for (const kind of ['dragover', 'drop']) document.body.dispatchEvent("
        "new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true})); })()"
    )


def paper() -> bytes:
    return make_pdf([Text(line, 60, 700 - 20 * n) for n, line in enumerate(TEXT.split("\n"))])


def test_paste_filter_and_copy(page: Page) -> None:
    page.choose("#number", "10")
    ask(page, TEXT)
    everything = texts(page, ".chip")
    assert {"space debris", "drag sail"} & {text.lower() for text in texts(page, "#present .chip")}
    page.choose("#least", "20")
    fewer = texts(page, ".chip")
    assert 0 < len(fewer) < len(everything)
    assert copied(page, "list").split("\n") == fewer
    rows = list(csv.DictReader(io.StringIO(copied(page, "csv"))))
    assert [row["keyphrase"] for row in rows] == fewer
    assert all(float(row["probability"]) >= 0.195 for row in rows)
    assert [phrase["text"] for phrase in json.loads(copied(page, "json"))] == fewer
    assert copied(page, "bibtex") == f"keywords = {{{', '.join(fewer)}}},"
    assert page.complaints == []


def test_highlight_both_ways(page: Page) -> None:
    ask(page, TEXT)
    phrase = texts(page, "#present .chip")[0]
    hover(page, "#present .chip")
    lit = page.run("[...document.querySelectorAll('#reading .lit')].map(e => e.textContent)")
    assert phrase.lower()[:4] in "".join(lit).lower()
    hover(page, "#reading a")
    assert len(texts(page, ".chip.lit")) >= 1


def test_a_dropped_pdf_is_read(page: Page) -> None:
    drop(page, "sails.pdf", paper())
    wait(page, "!document.getElementById('answer').hidden")
    assert said(page, "#answer-title") == "Keyphrases of sails.pdf"
    assert SENTENCES[1] in said(page, "#reading").replace("\n", " ")
    assert texts(page, "#present .chip")


def locked() -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(io.BytesIO(paper()))
    writer.encrypt("secret", algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def test_the_page_says_why_a_file_cannot_be_read(page: Page) -> None:
    for name, content, reason in (
        ("locked.pdf", locked(), "is encrypted"),
        ("scan.pdf", make_pdf([], []), "probably scanned"),
        ("cut.pdf", b"%PDF-1.7 cut", "is not a complete PDF"),
        ("photo.jpg", b"\xff\xd8\xff\x00", "neither PDF"),
        ("long.txt", b"bees " * LONGEST, "at most 20,000 are allowed"),
        (f"{SCRIPT}.pdf", b"", "is empty"),
    ):
        page.run("document.getElementById('problem').hidden = true")
        drop(page, name, content)
        wait(page, "!document.getElementById('problem').hidden")
        assert reason in said(page, "#problem")
    assert page.run("window.broken") is None


def test_the_page_says_when_a_text_is_too_long(page: Page) -> None:
    assert "at most 20,000 are allowed" in problem(page, "bees " * LONGEST)


def test_script_in_a_text_is_shown_but_not_executed(page: Page) -> None:
    ask(page, f"{TEXT}\n{SCRIPT}")
    assert SCRIPT in said(page, "#reading")
    ask(page, f"{SCRIPT}\n{TEXT}")
    assert page.run("window.broken") is None
    assert page.run("document.querySelectorAll('main img, main script').length") == 0
    assert page.complaints == []


def test_the_keyboard_is_enough(page: Page) -> None:
    def tab_to(condition: str, back: bool = False) -> None:
        for _ in range(40):
            press(page, "Tab", 9, modifiers=8 if back else 0)
            if page.run(f"(e => {condition})(document.activeElement)"):
                return
        raise AssertionError(f"the Tab key never reached {condition}")

    tab_to("e.id === 'text'")
    page.send("Input.insertText", text=TEXT)
    tab_to("e.id === 'number'")
    for _ in range(2):
        press(page, "ArrowDown", 40)
    assert page.run("document.getElementById('number').value") == "10"
    tab_to("e.type === 'submit'", back=True)
    press(page, "Enter", 13)
    wait(page, "document.activeElement.id === 'answer-title'")
    everything = texts(page, ".chip")
    tab_to("e.id === 'least'")
    for _ in range(3):
        press(page, "PageUp", 33)
    assert 0 < len(texts(page, ".chip")) < len(everything)
    tab_to("e.dataset.copy === 'list'")
    press(page, "Enter", 13)
    wait(page, "document.getElementById('copied').textContent")
    assert page.run("navigator.clipboard.readText()").split("\n") == texts(page, ".chip")
    tab_to("e.matches('.chip')")
    assert page.run("document.querySelectorAll('#reading .lit').length") > 0


@pytest.fixture
def axe() -> str:
    script = axe_script()
    if script is None:
        pytest.skip("axe-playwright-python is not installed")
    return script


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1200])
def test_no_barriers_in_any_state(page: Page, axe: str, width: int, scheme: str) -> None:
    page.look(width, scheme=scheme)
    page.run(axe + "; undefined")

    def check(state: str) -> None:
        assert page.run(BARRIERS) == [], state
        assert page.run("document.documentElement.scrollWidth") <= width, state

    check("empty")
    ask(page, TEXT)
    check("results")
    page.run("document.querySelector('#present .chip').focus()")
    check("a phrase highlighted")
    page.choose("#least", "100")
    check("nothing left")
    problem(page, "bees " * LONGEST)
    check("problem")
    page.run("document.getElementById('key-row').hidden = false")
    page.run("document.getElementById('drop').hidden = false")
    check("key required, and a file dragged over the page")


def test_axe_finds_barriers(page: Page, axe: str) -> None:
    """The check can fail."""
    page.run(axe + "; undefined")
    page.run("document.querySelector('label[for=text]').remove()")
    page.run("document.getElementById('hint').style.color = '#ddd'")
    page.run("document.getElementById('text').placeholder = ''")
    found = [barrier.partition(":")[0] for barrier in page.run(BARRIERS)]
    assert {"label", "color-contrast"} <= set(found)


def test_the_docs_page_has_no_barriers(page: Page, server: Server, axe: str) -> None:
    for width, scheme in ((375, "light"), (1200, "dark")):
        page.look(width, scheme=scheme)
        page.open(f"{server.address}/docs")
        page.run(axe + "; undefined")
        assert page.run(BARRIERS) == []
        assert page.run("document.documentElement.scrollWidth") <= width


def test_requests_can_be_tried_on_the_docs_page(page: Page, server: Server) -> None:
    """Under the same policy: a violation would be a complaint of the console."""
    page.open(f"{server.address}/docs")
    page.complaints.clear()
    for path in ("v1/keyphrases", "v1/keyphrases/file", "v1/models", "healthz", "metrics"):
        form = f'form.try[data-path="{path}"]'
        page.click(f"{form} button")
        wait(page, f"document.querySelector('{form} output').textContent.startsWith('200 ')")
    answer = said(page, 'form.try[data-path="v1/keyphrases"] output')
    assert '"text": "Heat pumps"' in answer
    requested = [text for text in page.complaints if not text.startswith("requested")]
    assert requested == []


def test_the_page_gives_the_keyphrases_of_the_command_line(page: Page) -> None:
    ask(page, TEXT)
    expected = [phrase.text for phrase in Keywright().generate(TEXT)]
    assert sorted(texts(page, ".chip")) == sorted(expected)


def test_own_tags(page: Page) -> None:
    page.choose("#vocabulary", "Orbital debris\ndrag sails\nbeekeeping")
    ask(page, TEXT)
    found = texts(page, ".chip")
    assert "drag sails" in found
    assert set(found) <= {"Orbital debris", "drag sails", "beekeeping"}
    assert "from your tags" in said(page, "#summary")


def test_the_page_says_when_the_service_is_gone(page: Page) -> None:
    with serving() as short_lived:
        page.open(f"{short_lived.address}/")
        ask(page, TEXT)
        short_lived.stop()
        assert problem(page, TEXT).startswith("The service does not answer.")
    assert page.run("document.getElementById('answer').hidden")
