"""The catalogues say everything that the program says, and nothing is shown that is not in them."""

import ast
import gettext
import io
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from unicodedata import normalize

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po

from build_catalogues import compile_catalogues
from build_reference import terms
from client.language import CATALOGUES, DOMAIN, LANGUAGES, OWN_NAME, language_of, prose_messages
from tests.cases import cases
from tests.conftest import Complain, Run

ROOT = Path(__file__).parent.parent
TRANSLATED = [language for language in LANGUAGES if language != "en"]
KEYWORDS = {
    "_": None,
    "N_": None,
    "counted": (1, 2),
    "StartError": None,
    "JournalError": None,
    "JournalInUse": None,
    "DamagedRecord": (2,),
    "BadPosition": None,
    "damage": None,
    "Template": None,
}
# Punctuation that is the same everywhere: after the name of a Python error or of the program, and in CSS.
OWN = re.compile(r"__name__|self\.prog|pair\.|_hash")
MOST_LEFT_OUT = 0.15  # of the texts with a term: it can be clear from what is around
UPKEEP = "docs/languages.md tells how the catalogues are kept"


def source_files(*folders: str, having: str = "") -> Iterator[tuple[Path, list[ast.AST]]]:
    """Yield each file that has this pattern with all nodes of its syntax tree."""
    for file in (ROOT / "palatinus.py", *(file for each in folders for file in (ROOT / each).rglob("*.py"))):
        text = file.read_text(encoding="utf-8")
        if re.search(having, text):
            yield file, list(ast.walk(ast.parse(text)))


@pytest.mark.slow
def test_every_marked_text_is_extracted_and_translated() -> None:
    """What the source marks is in each catalogue, and the other way round.

    Babel passes over marks inside an f-string or another mark, and cuts up what is not a plain string.
    """
    said, unheard = set[str | tuple[str, ...]](), set[str | tuple[str, ...]]()
    passed_over = set[ast.AST]()
    folders = (
        "commands",
        "hosting",
        "gateway",
        "pages",
        "past_games",
        "client",
        "salvage",
        "server",
        "engine",
        "protocol",
    )
    for file, nodes in source_files(*folders, having=rf"\b({'|'.join(KEYWORDS)})\("):
        for node in nodes:
            texts = texts_of(node)
            if texts or isinstance(node, ast.JoinedStr):
                passed_over.update(each for each in ast.walk(node) if each is not node)
            for text in texts:
                parts = [*ast.walk(text)]
                assert not any(isinstance(each, ast.JoinedStr) for each in parts), f"{file}:{text.lineno}"
                plain = isinstance(text, ast.Constant | ast.Subscript)
                assert plain or not any(isinstance(each, ast.Constant) for each in parts), file
            forms = tuple(str(text.value) for text in texts if isinstance(text, ast.Constant))
            if forms:
                (unheard if node in passed_over else said).add(forms if len(forms) > 1 else forms[0])
    for name in re.findall(
        r"^\[prose: (.*)\]", (ROOT / "babel.cfg").read_text(encoding="utf-8"), re.MULTILINE
    ):
        with (ROOT / name).open("rb") as prose:
            said.update(text for _line, _mark, text, _comments in prose_messages(prose))
    assert not unheard - said
    for language in TRANSLATED:
        known = {forms[0] if len(forms) == 1 else tuple(forms) for _, forms, _ in messages(language)}
        assert not said - known, UPKEEP
        assert not known - said, UPKEEP


def texts_of(node: ast.AST) -> list[ast.expr]:
    """Return the texts that a call marks."""
    if not isinstance(node, ast.Call):
        return []
    called = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
    places = KEYWORDS[called] or (1,) if called in KEYWORDS else ()
    return [node.args[place - 1] for place in places if place <= len(node.args)]


@pytest.mark.slow
def test_code_puts_no_colon_or_semicolon_between_texts() -> None:
    """Only `labelled` and `parted` do: French puts a space before it."""
    for file, nodes in source_files(
        "commands", "hosting", "gateway", "pages/drawing", "past_games", "client"
    ):
        filled = [node for node in nodes if isinstance(node, ast.JoinedStr)]
        inside = {part for node in filled for value in node.values for part in ast.walk(value)}
        for node in filled:
            ends = {id(node.values[-1])} if node.values else set()
            for before, part in itertools.pairwise(node.values):
                text = str(part.value) if isinstance(part, ast.Constant) else ""
                sign = re.match(r"[:;?!] ", text) or (text in {":", ";", "?", "!"} and id(part) in ends)
                assert not sign or OWN.search(ast.unparse(before)), f"{file}:{node.lineno}"
        for each in nodes:
            if isinstance(each, ast.Constant) and each not in inside:
                assert each.value not in {": ", "; "}, f"{file}:{each.lineno}"


def path(language: str, ending: str) -> Path:
    return CATALOGUES / language / "LC_MESSAGES" / f"{DOMAIN}.{ending}"


def catalogue(language: str) -> Catalog:
    with path(language, "po").open("rb") as file:
        return read_po(file, locale=language)


def messages(language: str) -> Iterator[tuple[Message, list[str], list[str]]]:
    """Yield each message with its forms in English and in the language."""
    for message in catalogue(language):
        if message.id:
            yield (
                message,
                [message.id] if isinstance(message.id, str) else list(message.id),
                [message.string] if isinstance(message.string, str) else list(message.string or ()),
            )


def places(text: str) -> set[str]:
    """Return what is filled into the text, whichever way."""
    return {
        *(f"{{{name}{conversion or ''}}}" for _, name, _, conversion in Formatter().parse(text) if name),
        *re.findall(r"%(?:\(\w+\))?[srd]", text),
    }


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_are_whole(language: str) -> None:
    """None is empty or a guess; all are filled in with the same, and begin and end alike."""
    forms = catalogue(language).num_plurals
    for message, english, translated in messages(language):
        assert not message.fuzzy, message.id
        assert len(translated) == (1 if isinstance(message.id, str) else forms), message.id
        for text in translated:
            assert text.strip(), message.id
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text + "".join(english)), message.id
            assert places(english[0]) <= places(text) <= places(english[-1]), message.id
            assert text[0].isspace() == english[0][0].isspace(), message.id
            assert text[-1].isspace() == english[0][-1].isspace(), message.id
            assert text.isupper() == english[0].isupper(), message.id  # headings
            assert all(normalize("NFKD", each)[0].isascii() for each in text), message.id  # for --ascii
            assert text.endswith(".") == english[0].endswith("."), message.id


def avoided(name: str) -> re.Pattern[str]:
    """Return the words that the translators' guide lists in rows of this name."""
    guide = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
    words = re.findall("`(.*?)`", "".join(re.findall(rf"^\| {name}[^|]*\|(.*?)\|", guide, re.MULTILINE)))
    assert words
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "English"), ("fr", "Français"), ("it", "Italiano"), ("nl", "Nederlands")],
)
def test_no_text_has_a_word_to_avoid(language: str, name: str) -> None:
    words = avoided(name)
    for message, english, translated in messages("fr" if language == "en" else language):
        for text in english if language == "en" else translated:
            assert not words.search(text), message.id


def test_no_document_has_a_word_to_avoid() -> None:
    """Only the list itself has them, and code may."""
    words = avoided("English")
    guides = (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    for path in (*guides, *ROOT.glob("docs/**/*.md")):
        prose = re.sub(
            r"^```.*?^```|`.*?`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        assert not (found := words.search(prose)), (path, found)


@pytest.mark.slow
def test_no_comment_has_a_word_to_avoid() -> None:
    words = avoided("English, code")
    for path in ROOT.glob("*/**/*.py"):
        if path.relative_to(ROOT).parts[0] != "build" and not path.relative_to(ROOT).parts[0].startswith("."):
            assert not (found := words.search(path.read_text(encoding="utf-8"))), (path, found)


@pytest.mark.slow
@pytest.mark.parametrize("language", TRANSLATED)
def test_a_thing_has_one_name(language: str) -> None:
    """As the table of terms has it: a text that names it in English does so, but where it can be left out."""
    known = list(messages(language))
    own = next(translated for message, _, translated in known if message.id == OWN_NAME)
    languages, named = terms()
    at = languages.index(own[0])
    for (names, *others), _meaning in named:
        if names[0].startswith("to "):  # verbs have too many forms
            continue
        translated = others[at - 1]
        roots = "|".join(each[: max(3, len(each) - 2)] for each in translated)
        naming = re.compile(rf"\b(?:{'|'.join(names)})s?\b", re.IGNORECASE)
        missing = [
            message.id
            for message, english, told in known
            if naming.search(re.sub(r"\{\w+\}|--[\w-]+", "", english[0]))
            if not re.search(roots, " ".join(told), re.IGNORECASE)
        ]
        count = sum(bool(naming.search(english[0])) for _message, english, _told in known)
        assert len(missing) <= max(1, count * MOST_LEFT_OUT), (translated, missing)


def test_french_is_written_as_it_should_be() -> None:
    """It has a no-break space before its high signs, unless in an address, a time or the name of a key.

    It says tu, and elides nothing before a name, which may begin with a vowel: nobody says `de Ann`.
    """
    before_a_name = r"\b(?:de|que) \{(?:name|names|leaders|winners|voter)\}"
    for message, _, translated in messages("fr"):
        for text in translated:
            assert not re.search(r" [:;?!](?![\w*])", text), message.id
            assert not re.search(r"[^\W\d][:;?!](?=\s|$)", text), message.id
            assert not re.search(rf"{before_a_name}|\b(?:vous|votre|vos)\b", text, re.IGNORECASE), message.id


def test_every_text_with_a_number_has_its_plural() -> None:
    """Unless the number can only be a limit, or the text itself says that 1 is right."""
    nouns = (
        "bots|bytes|captives|characters|commits|copies|cores|days|discs|draws|entries|farmers|fields|files|games"
        "|hours|laurels|letters|lines|merchants|messages|minutes|moves|people|pieces|players|points|positions"
        "|records|seats|seconds|simulations|soldiers|spectators|tables|tiles|times|turns|wolves"
    )
    limits = r"\{(?:least|most|wanted)\}|\{length\} characters|\{size\} bytes|\{n\} times in a row"
    for message, english, _ in messages("it"):
        rest = re.sub(rf"{limits}|\{{points\}} points a game|\{{name\}} draws tile", "", english[0])
        counts = re.search(rf"\{{\w+\}} (?:\w+ )?(?:{nouns})\b", rest)
        assert len(english) > 1 or not counts or "hoose 1 " in rest, message.id


def said_by(compiled: Catalog) -> tuple[object, ...]:
    """All texts and the rule of plurals, without the header, which names the Babel that compiled them."""
    return compiled.plural_expr, [(each.id, each.string) for each in compiled if each.id]


@pytest.mark.slow
@pytest.mark.parametrize("language", TRANSLATED)
def test_compiled_catalogues_are_the_written_ones(language: str) -> None:
    """Whether this installation or this run of the tests has compiled them."""
    compiled = io.BytesIO()
    write_mo(compiled, catalogue(language))
    compiled.seek(0)
    with path(language, "mo").open("rb") as kept:
        assert said_by(read_mo(kept)) == said_by(read_mo(compiled))


def test_a_catalogue_is_compiled_again_when_it_has_changed(tmp_path: Path) -> None:
    written = tmp_path / "nl" / "LC_MESSAGES" / f"{DOMAIN}.po"
    written.parent.mkdir(parents=True)
    compiled = written.with_suffix(".mo")

    def said(translation: str, at: int) -> str:
        written.write_text(f'msgid "hill"\nmsgstr "{translation}"\n', encoding="utf-8")
        os.utime(written, (at, at))
        compile_catalogues(tmp_path)
        os.utime(compiled, (100, 100))
        return translation_of("hill", compiled)

    assert said("heuvel", at=100) == "heuvel"
    assert said("berg", at=99) == "heuvel"  # nothing is to be done
    assert said("berg", at=101) == "berg"
    assert {*written.parent.iterdir()} == {written, compiled}


def translation_of(text: str, compiled: Path) -> str:
    with compiled.open("rb") as file:
        return gettext.GNUTranslations(file).gettext(text)


@pytest.mark.parametrize(("environment", "language"), cases(__file__, "locales"))
def test_the_locale_chooses_the_language(environment: str, language: str) -> None:
    """As gettext has it: LANGUAGE, LC_ALL, LC_MESSAGES, LANG, the first that is set."""
    assert language_of(dict(each.split("=") for each in environment.split())) == language


@pytest.mark.usefixtures("in_language")
@pytest.mark.parametrize("language", TRANSLATED)
def test_what_is_wrong_with_a_record_is_told_in_the_language(
    language: str, tmp_path: Path, complain: Complain
) -> None:
    """The record's own lines, the rules and the wrapping: no word of English is left."""
    said = {text: form[0] for _, (text, *_), form in messages(language)}
    sound = (ROOT / "tests" / "engine" / "records" / "3-players.txt").read_text(encoding="utf-8")
    file = tmp_path / "record.txt"
    wrapping = said["{file}: line {number}: {reason}"]
    facts = {"found": "`{garbage}`", "header": "`palatinus record 1`"}
    facts |= {"field": "E2", "n": "7", "least": "2", "most": "5"}
    taken, players = sound.replace("Sm* A1", "Sm* E2"), sound.replace("players 3", "players 7")
    for content, line, reason in (
        ("{garbage}\n", 1, "found {found}, but a record begins with {header}"),
        (taken, 29, "{field} is taken. Choose an empty field."),
        (players, 2, "Palatinus is for {least} to {most} players, not {n}."),
    ):
        file.write_text(content, encoding="utf-8")
        told = wrapping.format(file=file, number=line, reason=said[reason].format(**facts))
        assert complain("check", file, "--lang", language) == f"palatinus: {told}\n"


@pytest.mark.usefixtures("in_language")
@pytest.mark.parametrize("language", TRANSLATED)
def test_lang_is_heard_before_anything_is_said(
    language: str, tmp_path: Path, run: Run, complain: Complain
) -> None:
    """Help, complaints and argparse's own words are in the language asked for, wherever it stands."""
    said = {text: form[0] for _, (text, *_), form in messages(language)}
    told = " ".join(run("play", "--help-all", "--lang", language)[0].split())
    for text in (
        "seed of the draws and the bots, to repeat a game",
        "show this help message and exit",
        "options",
    ):
        assert said[text] in told
    assert said["the following arguments are required: %s"] % "server" in complain(
        "bot", f"--lang={language}"
    )
    why = said["cannot read {file}: {reason}"].format(file="/", reason=said["it is a folder"])
    assert why in complain("check", "/", "--lang", language)
    (tmp_path / "positions").write_text("{}")
    missing = said["{where}: missing: {keys}"].partition("{keys}")[0].format(where="position")
    assert missing in complain("score", tmp_path / "positions", "--lang", language)
