"""Elements of SVG pictures: text, paths, and the round chips of peoples."""

from typing import Final
from xml.etree import ElementTree as ET

from client.player.colouring import Colours
from client.ui.terminal.palette import PEOPLE_COLOURS
from engine.pieces import People

INK: Final = "#222222"  # of letters, unless they stand on a piece
TEXT_STYLE: Final = """
text { font-family: sans-serif; }
.c { text-anchor: middle; }
.b { font-weight: bold; }
.e { text-anchor: end; }
.faint { fill: #666666; }
"""


def document(title: str, style: str, width: int) -> ET.Element:
    """Return a picture of its own, on white: no fonts, pictures or scripts from elsewhere."""
    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", width=str(width), role="img", fill=INK)
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = style
    ET.SubElement(root, "rect", width="100%", height="100%", fill="#ffffff")
    return root


def finished(root: ET.Element, height: int) -> str:
    """Return the picture as text, so high."""
    root.set("viewBox", f"0 0 {root.get('width')} {height}")
    root.set("height", str(height))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def group_at(parent: ET.Element, x: float, y: float, more: str = "") -> ET.Element:
    return ET.SubElement(parent, "g", transform=f"translate({x:.1f} {y:.1f}){more}")


def write(
    parent: ET.Element, x: float, y: float, size: float, words: str, *, classes: str = ""
) -> ET.Element:
    element = ET.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "font-size": f"{size:g}"})
    if classes:
        element.set("class", classes)
    element.text = words
    return element


def draw_path(parent: ET.Element, shape: str, classes: str) -> ET.Element:
    return ET.SubElement(parent, "path", {"d": shape, "class": classes})


def draw_chip(parent: ET.Element, people: People, radius: float) -> None:
    """Draw a people's letter on its colour around the parent's origin."""
    colours = PEOPLE_COLOURS[Colours.TRUE][people]
    ET.SubElement(parent, "circle", {"r": f"{radius:g}", "class": "piece", "fill": colours.background})
    letter = write(parent, 0, radius * 0.45, radius * 1.3, people.value, classes="c b")
    letter.set("fill", colours.foreground)
