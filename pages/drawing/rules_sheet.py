"""The rules in short, as a sheet that opens over a page; they are those that a terminal shows."""

from collections.abc import Iterator

from markupsafe import Markup

from client.language import _
from client.ui.screens.reading import HANDS, RULES, hands_rows
from pages.drawing.html import element, join, scrolled


def rules_sheet() -> Markup:
    return sheet(_("Rules"), join(*_rules()))


def sheet(words: str, content: Markup, **attributes: str) -> Markup:
    """Return what opens over the page if these words in its bar are touched."""
    return element(
        "details", element("summary", words), element("div", content, **attributes), class_="sheet"
    )


def _rules() -> Iterator[Markup]:
    for part in RULES:
        if part == HANDS:
            yield scrolled(element("table", *map(_row, hands_rows())), _("Rules"))
        elif (paragraph := _(part)).isupper():
            yield element("h2", paragraph)
        else:
            yield element("p", paragraph)


def _row(cells: list[str]) -> Markup:
    words, *numbers = cells
    return element("tr", element("th", words, scope="row"), *(element("td", each) for each in numbers))
