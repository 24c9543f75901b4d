"""Mistakes by rule: where a Python source could have been written wrong, and the text that is wrong there.

Only code that does something is changed: no annotation, no decorator, no text, no log, no probe.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Final, TypeAlias

_NEIGHBOURS: Final = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
_LOG: Final = re.compile(r"(?:\w*_)?log")
# Swapped arguments of these are seen by every call, or by none.
_NOT_SWAPPED: Final = {"cast", "getattr", "isinstance", "issubclass", "max", "min", "setattr"}
_WITHOUT_EFFECT: Final = {"annotation", "returns", "decorator_list", "bases"}

Changed: TypeAlias = Iterator[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Change:
    """A mistake: the bytes of a source from `start` to `end` are replaced."""

    rule: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        encoded = source.encode()
        return (encoded[: self.start] + self.text.encode() + encoded[self.end :]).decode()


def changes(source: str) -> list[Change]:
    """Return all mistakes that the rules can make in a source; some do not compile or change nothing."""
    text = _Text(source)
    found = []
    for node in _effective(ast.parse(source)):
        for rule, make in RULES.items():
            for start, end, new in make(node, text):
                found.append(Change(rule, text.line(start), start, end, new))
    return sorted(set(found), key=lambda change: (change.start, change.end, change.rule, change.text))


def is_mistake(change: Change, source: str) -> bool:
    """Return whether a source still compiles with a change, and to other code than without."""
    try:
        changed = compile(change.applied(source), "changed", "exec")
    except SyntaxError:
        return False
    return _essence(changed) != _essence(compile(source, "unchanged", "exec"))


def _essence(code: CodeType) -> object:
    """Return what a code object does, without where its lines are."""
    constants = tuple(_essence(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_name, code.co_code, code.co_exceptiontable, code.co_flags, names, constants


class _Text:
    """A source whose nodes can be found in its bytes."""

    def __init__(self, source: str) -> None:
        self._source = source.encode()
        self._lines = [0]
        for line in self._source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, first: ast.AST, last: ast.AST | None = None) -> tuple[int, int]:
        """Return the bytes from the beginning of a node to the end of the same or another."""
        last = first if last is None else last
        assert isinstance(first, ast.expr | ast.stmt)
        assert isinstance(last, ast.expr | ast.stmt)
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        return (
            self._lines[first.lineno - 1] + first.col_offset,
            self._lines[last.end_lineno - 1] + last.end_col_offset,
        )

    def between(self, start: int, end: int) -> str:
        return self._source[start:end].decode()

    def of(self, node: ast.AST) -> str:
        return self.between(*self.span(node))

    def line(self, start: int) -> int:
        return self._source.count(b"\n", 0, start) + 1


def _effective(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below that do something when they are run."""
    if isinstance(node, ast.JoinedStr) or _only_observes(node) or _is_of_types(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in _WITHOUT_EFFECT:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _effective(child)


def _only_observes(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=value):
            return _only_observes(value)
        case ast.Call(func=ast.Name(id="probe")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name))):
            return _LOG.fullmatch(name) is not None
    return False


def _is_of_types(node: ast.AST) -> bool:
    match node:
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()):
            return name in {"dict", "frozenset", "list", "set", "tuple", "type"} or (
                name[0].isupper() and not name.isupper()
            )
    return False


def _dropped_call(node: ast.AST, text: _Text) -> Changed:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield *text.span(node), "pass"


def _negated(node: ast.AST, text: _Text) -> Changed:
    tests: list[ast.expr] = []
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            tests = [test]
        case ast.comprehension(ifs=ifs):
            tests = ifs
    for each in tests:
        match each:
            case ast.Constant():
                continue
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield *text.span(each), text.of(operand)
            case _:
                yield *text.span(each), f"not ({text.of(each)})"


def _compared_off_by_one(node: ast.AST, text: _Text) -> Changed:
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for left, sign, right in zip(sides, node.ops, sides[1:], strict=False):
        if type(sign) in _NEIGHBOURS:
            old, new = _NEIGHBOURS[type(sign)]
            after = text.span(left)[1]
            start = after + text.between(after, text.span(right)[0]).index(old)
            yield start, start + len(old), new


def _counted_off_by_one(node: ast.AST, text: _Text) -> Changed:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield *text.span(node), str(node.value + 1)
        if node.value > 0:
            yield *text.span(node), str(node.value - 1)


def _swapped(node: ast.AST, text: _Text) -> Changed:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in _NOT_SWAPPED:
        return
    for values in (node.args, [each.value for each in node.keywords if each.arg is not None]):
        for left, right in pairwise(values):
            if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
                continue
            (start, end), (begin, stop) = text.span(left), text.span(right)
            yield start, stop, text.of(right) + text.between(end, begin) + text.of(left)


def _skipped(node: ast.AST, text: _Text) -> Changed:
    bodies: list[list[ast.stmt]] = []
    match node:
        case ast.match_case(body=body) | ast.If(body=body, orelse=[] | [ast.If()]):
            bodies = [body]
        case ast.If(body=body, orelse=other):
            bodies = [body, other]
    for each in bodies:
        if not all(map(_only_observes, each)):
            yield *text.span(each[0], each[-1]), "pass"


def _not_awaited(node: ast.AST, text: _Text) -> Changed:
    if isinstance(node, ast.Await):
        start, end = text.span(node)
        yield start, end, text.between(start, end).removeprefix("await").lstrip()


def _one_less(node: ast.AST, text: _Text) -> Changed:
    spans: Sequence[tuple[int, int]] = ()
    match node:
        case ast.Tuple(elts=elements, ctx=ast.Load()) | ast.List(elts=elements, ctx=ast.Load()):
            spans = [text.span(each) for each in elements]
        case ast.Set(elts=elements):
            spans = [text.span(each) for each in elements]
        case ast.Dict(keys=keys, values=values):
            spans = [
                text.span(key, value) for key, value in zip(keys, values, strict=True) if key is not None
            ]
    if len(spans) == 2 and isinstance(node, ast.Tuple):
        for kept in spans:
            yield spans[0][0], spans[1][1], text.between(*kept) + ","
    elif len(spans) >= 2:
        for (start, _), (begin, _) in pairwise(spans):
            yield start, begin, ""
        yield spans[-2][1], spans[-1][1], ""


def _returned_early(node: ast.AST, text: _Text) -> Changed:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name == "__init__":
        return
    nothing = isinstance(node.returns, ast.Constant) and node.returns.value is None
    if not nothing and not any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own(node)):
        return
    for each in _own(node):
        if not isinstance(each, ast.stmt):
            continue
        if isinstance(each, ast.Return | ast.Pass) or _only_observes(each):
            continue
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            continue
        yield *text.span(each), "return"


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in a function, but not those in functions in it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own(child)


RULES: Final[dict[str, Callable[[ast.AST, _Text], Changed]]] = {
    "a call is dropped": _dropped_call,
    "a condition is negated": _negated,
    "a comparison is off by one": _compared_off_by_one,
    "a number is off by one": _counted_off_by_one,
    "two arguments are swapped": _swapped,
    "a case is skipped": _skipped,
    "an await is forgotten": _not_awaited,
    "an element is dropped": _one_less,
    "it returns early": _returned_early,
}
