"""Draws the pictures of the documentation, each for the light and for the dark: `scripts/docs pictures`.

Plain SVG, written by hand: the same bytes on every machine.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of a picture."""

    ink: str
    soft: str
    line: str
    card: str
    accent: str
    wash: str
    good: str
    bad: str


PALETTES = {
    "light": Palette("#16222b", "#5b6770", "#c9d1d6", "#ffffff", "#a63d14", "#fbe6dc", "#1b6b4a", "#9b1c1c"),
    "dark": Palette("#e9eef2", "#a3b0ba", "#47545e", "#262b33", "#f0a37a", "#4a2f22", "#74d0a4", "#ff9a94"),
}


SHARES = [("domain", 0.044, 0.65), ("valid", 0.14, 0.39), ("density", 0.6, 12.7), ("rows", 0.6, 12)]
"""Of each population, plain and linked, in per cent: docs/ideas/populations.md measures them."""


class Picture:
    """Shapes one after another, on nothing: the page's own ground shows."""

    def __init__(self, width: int, height: int, title: str, palette: Palette) -> None:
        self.palette = palette
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" font-family="{FONT}">\n<title>{escape(title)}</title>\n'
        )
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, colour: str = "", size: int = 14, **more: str) -> None:
        """Words; `more` are attributes, as anchor="middle", weight="600"."""
        names = {"anchor": "text-anchor", "weight": "font-weight"}
        given = "".join(f' {names.get(name, name)}="{value}"' for name, value in more.items())
        fill = colour or self.palette.ink
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{given}>{escape(words)}</text>')

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", **more: str
    ) -> None:
        """A rectangle with round corners."""
        given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
            f'fill="{fill}" stroke="{stroke}"{given}/>'
        )

    def dot(self, x: float, y: float, radius: float, fill: str, stroke: str = "none") -> None:
        """A filled or an open circle."""
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        )

    def path(self, commands: str, stroke: str, fill: str = "none", width: float = 1.5, dash: str = "") -> None:
        """Lines."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="{commands}" fill="{fill}" stroke="{stroke}" stroke-width="{width:g}" '
            f'stroke-linejoin="round"{dashed}/>'
        )

    def svg(self) -> str:
        """All of it."""
        return self.head + "\n".join(self.parts) + "\n</svg>\n"


def families(colours: Palette) -> Picture:
    """A row, its plain twin and its linked twin, with the answers of the model in the tutorial."""
    picture = Picture(760, 380, "A real row, its plain twin and its linked twin", colours)

    def card(x: int, title: str, changed: dict[str, str], answer: str, note: str) -> None:
        person = {"age": "28", "education": "Assoc-acdm", "occupation": "Protective-serv", "hours-per-week": "40"}
        values = person | {"sex": "Male", "relationship": "Husband"} | changed
        picture.box(x, 46, 220, 240, colours.card, colours.line)
        picture.text(x, 30, title, size=15, weight="600")
        for place, (name, value) in enumerate(values.items()):
            y = 74 + 30 * place
            if name in changed:
                picture.box(x + 6, y - 18, 208, 26, colours.wash)
            picture.text(x + 14, y, name, colours.soft, 13)
            is_new = name in changed
            picture.text(
                x + 206, y, value, colours.accent if is_new else "", 13, anchor="end", weight="600" if is_new else "400"
            )
        picture.path(f"M{x + 14} 248 H{x + 206}", colours.line, width=1)
        picture.text(x + 14, 272, "the model says", colours.soft, 13)
        picture.text(
            x + 206, 272, answer, colours.good if answer == ">50K" else colours.bad, 15, anchor="end", weight="700"
        )
        for line, words in enumerate(note.split("\n")):
            picture.text(x, 312 + 20 * line, words, colours.soft, 13)

    card(0, "A real row", {}, "<=50K", "Row 2 of the test data.")
    plain = "sex alone is changed: no gap.\nBut a husband who is a woman\nis hardly anybody in these data."
    card(270, "Its plain twin", {"sex": "Female"}, "<=50K", plain)
    linked = "What is linked changes along:\nthe gap is 1, so these two,\none family, are a case."
    card(540, "Its linked twin", {"sex": "Female", "relationship": "Wife"}, ">50K", linked)
    return picture


def populations(colours: Palette) -> Picture:
    """Domain, valid part, what is plausible, and rows: one in another."""
    picture = Picture(760, 400, "The four populations, one inside another", colours)
    draw = random.Random(7)
    picture.box(0, 34, 440, 350, "none", colours.soft, stroke_dasharray="5 4")
    picture.text(2, 22, "domain", weight="600")
    picture.text(64, 22, "every combination of values", colours.soft, 13)
    picture.box(70, 100, 350, 270, colours.card, colours.soft)
    picture.text(82, 122, "valid", weight="600")
    picture.text(124, 122, "what no constraint forbids", colours.soft, 13)
    picture.path(
        "M150 250 C150 170 230 150 290 165 S400 190 395 260 S330 355 260 350 S150 320 150 250 Z", "none", colours.wash
    )
    picture.text(196, 198, "density", colours.accent, weight="600")
    picture.text(256, 198, "what is likely", colours.soft, 13)
    for _ in range(46):
        angle = draw.gauss(0, 1), draw.gauss(0, 1)
        x, y = 275 + 42 * angle[0], 272 + 28 * angle[1]
        if 170 < x < 380 and 215 < y < 340:
            is_case = draw.random() < 0.12
            picture.dot(x, y, 4, colours.accent if is_case else colours.ink)
    picture.text(278, 362, "rows: real people", anchor="middle", size=13, weight="600")
    for _ in range(26):
        x, y = draw.uniform(12, 428), draw.uniform(46, 92)
        picture.dot(x, y, 3, "none", colours.line)
    for _ in range(22):
        x, y = draw.uniform(10, 60), draw.uniform(104, 374)
        picture.dot(x, y, 3, "none", colours.line)
    picture.text(480, 52, "The same model, asked in each", weight="600")
    for place, (name, *shares) in enumerate(SHARES):
        y = 88 + 74 * place
        picture.text(480, y, name, weight="600", size=13)
        for line, (kind, share) in enumerate(zip(("plain", "linked"), shares, strict=True)):
            below = y + 18 + 20 * line
            picture.text(480, below + 4, kind, colours.soft, 12)
            picture.box(526, below - 4, 160, 8, colours.line, fill_opacity="0.45")
            picture.box(526, below - 4, max(2, 160 * share / 15), 8, colours.accent)
            picture.text(754, below + 4, f"{share:g}%", size=13, anchor="end", weight="600")
    picture.text(480, 384, "The tutorial's tree, by sex.", colours.soft, 12)
    return picture


LEFT, TOP, CELL, COLUMNS, ROWS = 40, 20, 13, 40, 28
"""The grid of the walk."""

Place = tuple[int, int]


def at(column: float, row: float) -> tuple[float, float]:
    """The middle of a cell."""
    return LEFT + CELL * (column + 0.5), TOP + CELL * (ROWS - row - 0.5)


def is_case(column: int, row: int) -> bool:
    """A band that bends."""
    return 29 <= column + 0.55 * row + 0.02 * (row - 14) ** 2 < 35


def trail_from(start: Place, up: int, draw: random.Random) -> list[Place]:
    """Where an anchored walker goes: a step that is no case is taken back."""
    here, trail = start, [start]
    while len(trail) < 110:
        across, along = draw.choice([(1, 0), (-1, 0), (0, up), (0, -up), (0, up)])
        moved = here[0] + across, here[1] + along
        if 0 <= moved[0] < COLUMNS and 0 <= moved[1] < ROWS:
            here = moved if is_case(*moved) else here
            trail += [moved, here]
    return trail


def walk(colours: Palette) -> Picture:
    """A global sample finds cases, walkers go on from them; where both answers differ is a band."""
    picture = Picture(760, 430, "A search: uniform samples, then walks from two cases", colours)
    for column in range(COLUMNS):
        inside = [row for row in range(ROWS) if is_case(column, row)]
        if inside:
            x, y = at(column - 0.5, max(inside) + 0.5)
            size = f'width="{CELL}" height="{CELL * len(inside)}"'
            picture.parts.append(f'<rect x="{x:g}" y="{y:g}" {size} fill="{colours.wash}"/>')
    picture.path(f"M{LEFT} {TOP} V{TOP + CELL * ROWS} H{LEFT + CELL * COLUMNS}", colours.soft)
    picture.text(LEFT + CELL * COLUMNS, TOP + CELL * ROWS + 22, "hours-per-week", colours.soft, 13, anchor="end")
    x, y = LEFT - 14, TOP + 60
    picture.text(x, y, "age", colours.soft, 13, anchor="middle", transform=f"rotate(-90 {x} {y})")
    draw = random.Random(16)
    for column, row in [(draw.randrange(COLUMNS), draw.randrange(ROWS)) for _ in range(45)]:
        if not is_case(column, row):
            picture.dot(*at(column, row), 2.5, colours.soft)
    for start, up in (((23, 17), 1), ((29, 9), -1)):
        trail = trail_from(start, up, draw)
        picture.path("M" + " L".join("{:g} {:g}".format(*at(*each)) for each in trail), colours.soft, width=1.2)
        for each in dict.fromkeys(trail):
            fill, edge = (colours.accent, "none") if is_case(*each) else (colours.card, colours.soft)
            picture.dot(*at(*each), 3.5, fill, edge)
        picture.dot(*at(*start), 7, "none", colours.accent)
    legend_of_walk(picture, LEFT + CELL * COLUMNS + 24, colours)
    return picture


def legend_of_walk(picture: Picture, x: float, colours: Palette) -> None:
    """What the marks mean."""
    legend: list[tuple[str, str, Callable[[float], None]]] = [
        ("A uniform sample,", "no case", lambda y: picture.dot(x, y, 2.5, colours.soft)),
        ("A start case, where", "a walker begins", lambda y: picture.dot(x, y, 7, "none", colours.accent)),
        ("A step that is", "a case too", lambda y: picture.dot(x, y, 3.5, colours.accent)),
        ("A step out: an anchored", "walker goes back", lambda y: picture.dot(x, y, 3.5, colours.card, colours.soft)),
        ("Where women and men", "get different answers", lambda y: picture.box(x - 7, y - 7, 14, 14, colours.wash)),
    ]
    for place, (first, second, mark) in enumerate(legend):
        y = 60 + 58 * place
        mark(y)
        picture.text(x + 18, y - 2, first, size=13)
        picture.text(x + 18, y + 15, second, size=13)


PICTURES = (families, populations, walk)


def drawn() -> Iterator[tuple[str, str]]:
    """The name of each file, and what is in it."""
    for make in PICTURES:
        for scheme, colours in PALETTES.items():
            yield f"{make.__name__}-{scheme}.svg", make(colours).svg()


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, svg in drawn():
        (folder / name).write_text(svg, encoding="utf-8")
