"""Reading which option a reply chooses: a label that opens its answer, an option's text, or the one that its words single out.

Options that a reply turns down ("not A", "(C) is wrong") are not named by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracebench_hfqa.families.answer import COMMENT, REASON, places, put_instead, sentences, spoken
from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.family import Option
from tracebench_hfqa.families.text import normalise

SHORT = 80
"""Longest unmarked last line, in characters, in which a bare letter is a label."""
NAMED = r"(?:the\s+)?(?:option|choice|answer|letter|number)\s+"
NOUN = rf"(?:{NAMED})?"
OPEN, CLOSE = r"[\s*_(\[{\"'“\u2018`$]*", r"[)\]}\"'”\u2019*_`$]*"
OPENED = rf"^{OPEN}(?:(?i:{NAMED})[(\[{{*]*)?"
"""What a text may begin with before a label. A run of brackets and stars falls to one part of it: two would try every way to share it."""
_OR = r"(?:or|and|&|as\s+well\s+as)\s+"
JOIN = rf"[.:]?\s*(?:/\s*|,\s*(?:{_OR})?|{_OR})(?:(?:possibly|perhaps|maybe|probably|also)\s+)?"
BLANK = r"[^\S\n]"
WAIT = re.compile(r"\b(?:wait|actually|on second thought|correction|sorry|i mean)\b", re.IGNORECASE)
TAKEN_BACK = re.compile(rf"{WAIT.pattern}|^\W*(?:or|but)\b", re.IGNORECASE)
ARTICLE = re.compile(r"^(?:a|an|the)\s+", re.IGNORECASE)
LABELLED = re.compile(r"^\W*\w{1,2}[.)]\s+")
"""A label at the beginning of a line, whose full stop ends no sentence."""
NEGATION = re.compile(
    r"\b(?:not|never|cannot|neither|nor|rather than|instead of|except)\b|n['\u2019]t\b", re.IGNORECASE
)
SET_APART = re.compile(r"(?:(?:it|that)(?:['\u2019]s|\s+is)\s+)?(not|between|among|(?:out\s+)?of)\s+", re.IGNORECASE)
SEVERAL = ""


def chosen(reply: str, options: Sequence[Option]) -> str:
    """Return the label of the one option that a reply names; empty when it names none or several."""
    reply = spoken(reply)
    if whole := _whole(reply, options):
        return whole
    if instead := _whole(put_instead(reply), options):
        return instead
    for place in places(reply):
        found = None if COMMENT.match(place) else _of_place(boxed(place) or place, options)
        if found is not None:
            return found
    return _of_prose(reply, options)


def _of_place(place: str, options: Sequence[Option]) -> str | None:
    """Return the option that a marked place gives, `SEVERAL` when it gives more, None when it speaks of none."""
    text = bare(place)
    if whole := _whole(text, options):
        return whole
    if _lists(text, options):
        return SEVERAL
    first = _without_denied((sentences(text) or [""])[0], options)
    opening = [o.label for o in options if _opens(first, o.label)]
    if len(opening) == 1:
        several = _goes_on(first, opening[0], options) or _contradicts(first, opening[0], options)
        return SEVERAL if several else opening[0]
    clause = REASON.split(first)[0]
    if whole := _whole(clause, options) or _whole(first, options):
        return whole
    named = _labels(first, options, bold=True) or _texts(clause, options)
    return _one(named) if named else None


def _of_prose(reply: str, options: Sequence[Option]) -> str:
    """Return the option of an unmarked reply: its first or last line where that is one, else what its words single out."""
    lines = [line.strip() for line in bare(reply).splitlines() if line.strip()]
    asks = reply.rstrip(" *_").endswith("?")
    if (
        not lines
        or asks
        or _lists(reply, options)
        or len({label for line in lines if (label := _whole(line, options))}) > 1
    ):  # the options once more
        return SEVERAL
    if first := _first_line(lines[0], options):
        return SEVERAL if TAKEN_BACK.search(" ".join([*sentences(lines[0])[1:], *lines[1:]])) else first
    if _is_undecided(lines, options):
        return SEVERAL
    text, last = _without_denied(reply, options), _without_denied(lines[-1], options)
    if found := _whole(last, options) or _one(_in_words(text, options)):
        return found
    named = _labels(text, options, bold=False)
    if len(named) > 1:
        return SEVERAL if len(lines) == 1 else _one(_labels(last, options, bold=len(last) <= SHORT))
    return (
        _one(_labels(last, options, bold=len(last) <= SHORT)) or _one(named) or _opening_or_text(reply, text, options)
    )


def _is_undecided(lines: Sequence[str], options: Sequence[Option]) -> bool:
    """Tell whether a first line takes its label back ("A. Wait, B"), or a reply of one line goes on to another option ("A or C")."""
    first = lines[0]
    if LABELLED.match(first) and WAIT.search(first):
        return True
    return len(lines) == 1 and any(_opens(first, o.label) and _goes_on(first, o.label, options) for o in options)


def _lists(text: str, options: Sequence[Option]) -> bool:
    """Tell whether a text is nothing but several labels."""
    words = re.findall(r"\w+", text)
    return len(set(words)) > 1 and set(words) <= {o.label for o in options}


def _first_line(line: str, options: Sequence[Option]) -> str:
    """Return the option that a line is, or that its first sentence is, or whose label and text it begins with."""
    begun = [o.label for o in options if f"{normalise(_behind(line, o.label))} ".startswith(f"{normalise(o.text)} ")]
    return _whole(line, options) or _whole((sentences(line) or [""])[0], options) or _one(begun)


def _behind(line: str, label: str) -> str:
    """Return what stands behind the label that a line begins with; empty where it begins with none."""
    begun = re.match(rf"{OPENED}{re.escape(label)}(?!\w)", line, re.IGNORECASE)
    return line[begun.end() :] if begun else ""


def _opening_or_text(reply: str, text: str, options: Sequence[Option]) -> str:
    """Return the option whose label opens a text, else the one whose text it holds, unless it denies something."""
    opening = [o.label for o in options if _opens(text, o.label)]
    if opening:
        return _one(
            [label for label in opening if not _goes_on(text, label, options) and not _turns(text, label, options)]
        )
    return SEVERAL if NEGATION.search(reply) else _one(_texts(reply, options))


def _whole(text: str, options: Sequence[Option]) -> str:
    """Read a text that is nothing but a label, a label with its text, or a text, once it has set others apart."""
    text = _behind_others(bare(text), options)
    for label, _ in options:
        if re.fullmatch(rf"{NOUN}[(\[{{]?{re.escape(label)}[)\]}}.:]*", text, re.IGNORECASE):
            return label
    plain = normalise(text)
    same = [o.label for o in options if plain and plain in {normalise(o.text), normalise(f"{o.label} {o.text}")}]
    return _one(same)


def _behind_others(text: str, options: Sequence[Option]) -> str:
    """Return what stands behind the options that a text begins with: "between A and B, A", "not oak but elm"; else the text."""
    if not (begun := SET_APART.match(text)):
        return text
    known = "|".join(re.escape(name) for o in options for name in (o.label, ARTICLE.sub("", o.text)) if name)
    one = rf"{NOUN}(?:(?:a|an|the)\s+)?[(\[]?(?:{known})[)\]]?(?![\w'])"
    many = rf"{one}(?:(?:,\s*|\s+)(?:and\s+|or\s+)?{one}){{1,7}}"
    form = rf"{one},?\s+but\s+(?:rather\s+)?" if begun[1].lower() == "not" else rf"{many},\s*"
    others = re.compile(form, re.IGNORECASE).match(text, begun.end())
    return text[others.end() :] if others else text


def _opens(text: str, label: str) -> bool:
    """Tell whether a text begins with a label; `A` and `I` before a lower-case word, a number before a word, and "I'm" are none."""
    exact = re.escape(label)
    word = label in {"A", "I"} or label.isdigit()
    further = "" if word else r"|\s"
    after = (
        rf"(?=[)\]}}\"”*_`$,;:!]|['\u2019](?!\w)|\.(?!\d)|\s*[-—\u2013]|\s*$"
        rf"|\s+\(|\s+(?:because|since|is|as|or|and)\b{further})"
    )
    return re.match(rf"{OPENED}{exact}{after}", text) is not None


def _goes_on(text: str, label: str, options: Sequence[Option]) -> bool:
    """Tell whether another label, or its text, stands beside the one that opens a text, as in "A or C" and "A and pine"."""
    rest = [o for o in options if o.label != label]
    labels = "|".join(re.escape(o.label) for o in rest)
    texts = "|".join(re.escape(told) for told in (ARTICLE.sub("", o.text) for o in rest) if told)
    opened = rf"{OPENED}{re.escape(label)}{CLOSE}"
    beside = rf"{opened}(?i:{JOIN})(?i:{NOUN})[(\[{{*]*(?:{labels})(?![\w'])"
    told = rf"{opened}\s+(?i:(?:or|and)\s+(?:(?:a|an|the)\s+)?(?:{texts}))(?![\w'])"
    return any(words and re.match(form, text) is not None for words, form in ((labels, beside), (texts, told)))


def _turns(text: str, label: str, options: Sequence[Option]) -> bool:
    """Tell whether a text that a label opens ends with another one, as in "C is tempting, but B"."""
    others = "|".join(re.escape(o.label) for o in options if o.label != label)
    return bool(others) and re.search(rf"\b(?i:but\s+{NOUN})[(*]{{0,3}}(?:{others})[)*.!]*\s*$", text) is not None


def _contradicts(text: str, label: str, options: Sequence[Option]) -> bool:
    """Tell whether the label that opens a text stands before the text of another option, as in "(B) oak" where oak is A."""
    said = normalise(REASON.split(bare(text))[0])
    others = [normalise(f"{label} {o.text}") for o in options if o.label != label]
    return said in others and said not in {normalise(f"{o.label} {o.text}") for o in options}


def _without_denied(text: str, options: Sequence[Option]) -> str:
    """Return a text without the options that it turns down."""
    labels = "|".join(re.escape(o.label) for o in options)
    one = rf"[(\[]?(?:{labels})[)\]]?(?![\w'])"
    many = rf"{one}(?:(?:,\s*|\s+)(?:and\s+|or\s+)?{one}){{0,7}}"
    words = (
        r"not|nor|neither|rather than|instead of|unlike|except|not even|(?:anything|everything|all) but"
        r"|(?<!no )(?<!any )(?:better|more \w+) than"
    )
    before = rf"(?i:\b(?:{words})\s+{NOUN}){many}"
    behind = (
        rf"(?<![\w'])(?i:{NOUN}){many}\s+"
        r"(?i:(?:is|are|was|were|would be|can(?:not)? be)\s*(?:\w+\s+)?(?:not\b|n['\u2019]t|wrong|incorrect|false)|isn['\u2019]t|cannot)"
    )
    return re.sub(behind, " ", re.sub(before, " ", text))


def _in_words(text: str, options: Sequence[Option]) -> list[str]:
    """Return the labels that a text chooses in words: "B is correct", "I choose (B)"."""
    found = []
    for label, _ in options:
        exact = rf"[(\[\"'*]{{0,8}}{re.escape(label)}[)\]\"'*]*"  # of a long run of stars each would begin anew
        best = r"(?i:the\s+|most\s+|also\s+)*(?i:correct|right|best|answer|likely|appropriate|true)\b"
        forms = (
            rf"(?<![\w'])(?i:{NOUN}){exact}(?:\s+\([^()]*\))?\s+(?i:is|would be)\s+{best}",
            rf"(?i:\b(?:choose|pick|select|go with|chose|selected|going with)\s+{NOUN}){exact}(?=[.,;:!]|\s*$|\s+(?i:because|since|as)\b)",
        )
        if any(re.search(form, text, re.MULTILINE) for form in forms):
            found.append(label)
    return found


def _labels(text: str, options: Sequence[Option], *, bold: bool) -> list[str]:
    """Return the labels that a text names: `(B)`, a leading `B.`, and (`bold`) a letter standing alone that is no word."""
    found: dict[str, None] = {}
    for label, _ in options:
        exact = re.escape(label)
        forms = [rf"\({exact}\)", rf"^{BLANK}*{exact}[).:](?!\d)"]
        if bold:
            word = label in {"A", "I"} or label.isdigit()
            forms.append(
                rf"(?<![\w'.(-]){exact}(?=[.,;:!)*/]|$|\s+(?:or|and|nor)\b)(?!\.\d)"
                if word
                else rf"(?<![\w'.(-]){exact}(?![\w'-])"
            )
            forms.append(
                rf"^{BLANK}*{exact}(?:\s*[-\u2013,]|\s+(?:because|since)\b)" if word else rf"^{BLANK}*{exact}\b"
            )
        if any(re.search(form, text, re.MULTILINE) for form in forms):
            found[label] = None
    return list(found)


def _texts(text: str, options: Sequence[Option]) -> list[str]:
    """Return the labels of the options whose texts stand in a text, less those within a longer one that does."""
    held = f" {normalise(text)} "
    found = [(o.label, plain) for o in options if (plain := normalise(o.text)) and f" {plain} " in held]
    return [
        label
        for label, plain in found
        if not any(plain != other and f" {plain} " in f" {other} " for _, other in found)
    ]


def _one(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else SEVERAL
