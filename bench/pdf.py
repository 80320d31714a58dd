"""How PDF files of Debian's documentation packages are read, beside poppler's pdftotext.

    apt-get install poppler-utils
    packages="texlive-base texlive-latex-base-doc texlive-publishers-doc texlive-humanities-doc"
    packages="$packages asymptote-doc auctex"
    for package in $packages; do apt-get download $package && dpkg -x ${package}_*.deb root; done
    python -m bench.pdf --root root

For each file: the share of words in common with pdftotext (2·common / both), the order (the longest
common subsequence of words, of the shorter text's) beside `pdftotext` or `pdftotext -raw`, the
closer one, whether the title is right, and milliseconds of CPU per page. Words are compared before
running heads are dropped, because pdftotext keeps them. Neither of pdftotext's orders is the truth:
the first looks at places on the page, the second is that of the file.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz.distance import LCSseq

from keywright.sources import read_content
from keywright.sources.pdf import read_pages

DOC = "usr/share/doc/texlive-doc/"
HOPE = "The Name of the Title Is Hope"
TITLES = {
    DOC + "bibtex/base/btxdoc.pdf": "BIBTEXing",
    DOC + "bibtex/base/btxhak.pdf": "Designing BIBTEX Styles",
    DOC + "fonts/amsfonts/amsfonts.pdf": "The amsfonts package",
    DOC + "latex/acmart/samples/sample-acmsmall-biblatex.pdf": HOPE,
    DOC + "latex/acmart/samples/sample-acmtog.pdf": HOPE,
    DOC + "latex/acmart/samples/sample-sigconf-biblatex.pdf": HOPE,
    DOC + "latex/acmart/samples/sample-sigconf.pdf": HOPE,
    DOC + "latex/amscls/amsthdoc.pdf": "Using the amsthm Package",
    DOC + "latex/asmeconf/examples/asmeconf-fontspec.pdf": (
        "LANGUAGE SUPPORT IN ASMECONF: NON-LATIN ALPHABETS, LUALATEX, AND FONTSPEC"
    ),
    DOC + "latex/base/ltnews35.pdf": "LATEX News",
    DOC + "latex/base/nfssfont.pdf": "The program nfssfont",
    DOC + "latex/beamer-verona/beamer-verona-default.pdf": "A simple template With a subtitle",
    DOC + "latex/elsarticle/elsdoc.pdf": "elsarticle.cls – A better way to format your document",
    DOC + "latex/ifplatform/ifplatform.pdf": "The ifplatform package",
    DOC + "latex/infwarerr/infwarerr.pdf": "The infwarerr package",
    DOC + "latex/jmlr/pmlr-sample.pdf": "Full Title of Article This Title Has A Line Break",
    DOC + "latex/jpsj/injpsj2.pdf": (
        "Instructions for the Preparation of a Manuscript for the Journal of the Physical Society "
        "of Japan"
    ),
    DOC + "latex/latex-lab/documentmetadata-support-code.pdf": "The documentmetadata-support code",
    DOC + "latex/llncs/llncsdoc.pdf": (
        "Instructions for Using Springer’s llncs Class for Computer Science Proceedings Papers"
    ),
    DOC + "latex/mucproc/mucproc.pdf": "The mucproc class",
    DOC + "latex/oberdiek/hyphsubst.pdf": "The hyphsubst package",
    DOC + "latex/oup-authoring-template/oup-authoring-template.pdf": "Article Title",
    DOC + "latex/pracjourn/pjsample.pdf": "Example of a PracTEX Journal article",
    DOC + "latex/revtex/auguide/auguide4-2.pdf": "REVTEX 4.2 Author’s Guide",
    DOC + "latex/revtex/auguide/summary4-2.pdf": "REVTEX 4.2 Command and Options Summary",
    DOC + "latex/revtex4-1/auguide/whatsnew4-1.pdf": "What’s New in REVTEX 4.1",
    DOC + "latex/revtex4-1/sample/aps/apssamp.pdf": "Manuscript Title: with Forced Linebreak",
    DOC + "latex/scrjrnl/scrjrnl.pdf": "The scrjrnl class",
    DOC + "latex/stage/stage-documentation.pdf": "Using stage",
    DOC + "latex/timbreicmc/timbreicmc.pdf": (
        "timbreicmc: Papéis timbrados usados no ICMC/USP São Carlos-SP, Brasil"
    ),
    DOC + "latex/tools/delarray.pdf": "The delarray package",
    DOC + "latex/tools/tabularx.pdf": "The tabularx package",
    DOC + "latex/tudscr/tutorials/mathswap.pdf": "Änderung der Trennzeichen im Mathematikmodus",
    DOC + "support/makeindex/makeindex.pdf": "MakeIndex : An Index Processor For LaTEX",
    "usr/share/doc/asymptote/asyRefCard.pdf": "Asymptote Reference Card",
    "usr/share/doc/auctex/tex-ref.pdf": "AUCTEX Reference Card",
}
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s*\n\s*(?=[^\W\d_])")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Verdict:
    pages: int
    words: float
    order: float
    title: str
    seconds: float
    poppler_seconds: float


def words(text: str) -> list[str]:
    """The words of a text, those broken at the end of a line in one piece."""
    text = unicodedata.normalize("NFKC", re.sub("[\x02\ufffe]", "-", text)).replace("\xad", "")
    return _WORD.findall(_BROKEN.sub("", text).lower())


def common(ours: Sequence[str], theirs: Sequence[str]) -> float:
    both = (Counter(ours) & Counter(theirs)).total()
    return 2 * both / (len(ours) + len(theirs))


def order(ours: Sequence[str], theirs: Sequence[str]) -> float:
    ids: dict[str, int] = {}
    one, other = ([ids.setdefault(word, len(ids)) for word in side] for side in (ours, theirs))
    return LCSseq.similarity(one, other) / min(len(ours), len(theirs))


def judge(path: Path) -> Verdict:
    content = path.read_bytes()
    began = time.process_time()
    document = read_content(content, path.name)
    seconds = time.process_time() - began
    pages, _ = read_pages(content, path.name)
    ours = words("\n".join(line.text for page in pages for line in page))
    theirs, poppler_seconds = pdftotext(path)
    raw, _ = pdftotext(path, "-raw")
    return Verdict(
        len(pages),
        common(ours, theirs),
        max(order(ours, theirs), order(ours, raw)),
        document.title,
        seconds,
        poppler_seconds,
    )


def pdftotext(path: Path, *options: str) -> tuple[list[str], float]:
    """The words that pdftotext finds, and its seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["pdftotext", "-enc", "UTF-8", *options, str(path), "-"]
    made = subprocess.run(command, capture_output=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return words(made.decode("utf-8", errors="replace")), spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"), help="where packages are unpacked")
    root = parser.parse_args().root
    print("| file | pages | words | order | title | ms per page | pdftotext |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: |")
    for name, title in TITLES.items():
        if not (root / name).exists():
            continue
        found = judge(root / name)
        right = "yes" if found.title == title else f"no: {found.title[:30]}"
        print(
            f"| {Path(name).stem} | {found.pages} | {100 * found.words:.1f} | "
            f"{100 * found.order:.1f} | {right} | {1000 * found.seconds / found.pages:.0f} | "
            f"{1000 * found.poppler_seconds / found.pages:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
