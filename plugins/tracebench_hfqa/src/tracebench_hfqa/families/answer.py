"""Finding where a reply gives its answer: tags and JSON, then marked lines, then `\\boxed{}`, then "the answer is" in passing.

The places come ranked, and each family takes the first that says anything of its kind. What is negated ("the answer is not") or only
comments on an answer ("this answer is helpful") marks none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.text import whole_characters

KEYS = frozenset({"answer", "final_answer", "correct_answer", "response", "result", "choice", "option", "label"})
OBJECT = re.compile(r"\{\s*\"")
JSON = json.JSONDecoder()
TAG = re.compile(r"[<\[](final_?answer|answer)[>\]](.*?)(?:[<\[]/\1[>\]]|\Z)", re.IGNORECASE | re.DOTALL)
THOUGHT = re.compile(r"</(?:think|thinking|reasoning|thought)>", re.IGNORECASE)

_OWN = r"(?:the|my|our)[ \t]+"
_KIND = r"(?:(?:final|correct|best|right)[ \t]+){0,2}(?:answer|option|choice)"
_TO = r"(?:[ \t]+(?:to|for|of)[ \t]++[^.\n:=]{1,80}?)?"
_COLON = r"[*_]*[ \t]*(?::|=(?!=)|→|->)(?:[*_]+(?=\s))?"
_IS = r"[ \t]+(?:is|was|(?:would|should|must|will)[ \t]+be|equals)(?![\w'\u2019])(?:[*_]+(?=\s|:))?[ \t]*:?(?:[*_]+(?=\s))?"
_BEFORE = r"(?:^[ \t>#*_`•-]*|(?<=\*\*)|(?<=__)|(?<=[.!?]\s))(?:(?:so|thus|therefore|hence|and|then)[ \t,]+)?"
STRONG = re.compile(
    rf"{_BEFORE}(?:{_OWN})?(?:{_KIND}{_TO}|ans)(?:{_COLON}|{_IS})"
    rf"|(?<!\w)(?:{_OWN})?final[ \t]+answer{_TO}(?:{_COLON}|{_IS})",
    re.IGNORECASE | re.MULTILINE,
)
WEAK = re.compile(
    rf"(?<!\w)(?:{_OWN}{_KIND}{_TO}(?:{_COLON}|{_IS})"
    rf"|(?:final|correct|best|right)[ \t]+(?:answer|option|choice){_TO}(?:{_COLON}|{_IS})"
    rf"|(?:answer|option|choice){_COLON})",
    re.IGNORECASE,
)
NEGATED = re.compile(r"^[\s*_\"'(]*(?:\w+ly\s+)?(?:not|never|neither|anything but|cannot|unlikely)\b", re.IGNORECASE)
COMMENT = re.compile(
    r"^[\s*_\"'(]*(?:\w+ly\s+)?(?:(?:correct|right|wrong|incorrect|helpful|clear|obvious|useful|unclear|based|supported|found|given|stated|located"
    r"|shown|as follows|because|explained|derived|accurate)\b"
    r"|(?:in|from) (?:the |this )?(?:paragraphs?|passages?|texts?|contexts?|sections?|documents?|sentences?|notes?|article)\b)",
    re.IGNORECASE,
)
RETRACTED = re.compile(
    r"\b(?:wait|actually|on second thought|correction|sorry|i mean|scratch that)\b|^\W*(?:no|or|but|not|rather|instead)\b",
    re.IGNORECASE,
)
INITIAL = re.compile(
    r"(?:(?:^|[\s.(])[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|vs|Mt|Ft|Prof|Gen|Col|Lt|Capt|Sgt|Rev|Gov|Sen|Rep|Inc|Co|Corp|Ltd|etc|approx|ca))\.$"
)
STARTS = re.compile(r"\s+(?:This|That|These|The|It|I|He|She|They|We|Because|Explanation)\b")
SENTENCE_END = re.compile(r"[.!?][\"'”\u2019*_)\]`$]*(?=\s+[\"“(*_]*[A-Z0-9])|\n")
REASON = re.compile(
    r"(?:,\s*|(?<!\s)\s+)(?:because|since|according to|based on|as (?:stated|mentioned|shown|described)|which (?:is|was|means))\b"
    r"|(?<!\s)\s+[—\u2013]\s+|,\s*(?:not|rather than)\b",
    re.IGNORECASE,
)
REMARK = re.compile(r"(?<!\s)\s*\((?:(?:[^()\s]*\s){2}[^()]*\)|(?:not|see|as|the|from|in)\b.*\))\s*$", re.IGNORECASE)
LONGEST_INITIAL = 10
"""Characters before an end of a sentence that tell whether `INITIAL` stands there."""
COURTESY = re.compile(
    r"(?:\n\s*|(?<=[.!?*`$\"')\]}])[ \t]+)(?:(?:please )?(?:let me know|feel free) (?:if|to|when|whether|should)\b"
    r"|(?:i )?hope (?:this|that|it) (?:helps|answers|clarifies|is)\b|would you like (?:me|to|more|another|help|any|further)\b"
    r"|do you (?:want|need) (?:me|to|more|another|help|any|further)\b"
    r"|if you (?:have|need|want) (?:any|more|other|another|further|help|me)\b"
    r"|is there anything\b|can i help\b)[^\n]*\s*\Z",
    re.IGNORECASE,
)
INSTEAD = re.compile(
    r"[.!?…,;—\u2013\n-]\s*(?:no[,:—\u2013-]|(?:wait|actually|sorry|correction|scratch that|i mean|i meant)\b)[\s,:.—\u2013-]*"
    r"(?:(?:no|i mean|actually|it(?:'s| is)|that(?:'s| is)|make (?:it|that))\b[\s,:]*)*([^\n.!?]*(?:\.\d+)?)[.!?\s*_)]*\Z",
    re.IGNORECASE,
)
MOST = 20
"""Marks of one kind that are looked at, from the last."""
CORRECTED = re.compile(r"\b(?:wait|on second thought|scratch that|correction|i made a mistake)\b", re.IGNORECASE)
END = 400
"""Characters at the end of a reply in which it takes its leave, or its answer back."""
UNIT = 3
"""Words of a number or a label with what may stand beside it."""
FEW = 12
"""Words of an answer that stands on a line of its own."""


def spoken(reply: str) -> str:
    """Return a reply without the thoughts that a model wrote down before it, and without what it offers or asks once it is done."""
    parts = THOUGHT.split(reply)
    reply = parts[-1] if parts[-1].strip() else reply
    for _ in range(FEW):
        shorter = COURTESY.sub("", reply[-END:])
        if len(shorter) == len(reply[-END:]) or not shorter.strip():
            break
        reply = reply[:-END] + shorter
    return reply


def put_instead(reply: str) -> str:
    """Return the few words that a reply ends with in place of its answer, as in "18. No, sorry, 20."; empty where there are none."""
    found = INSTEAD.search(reply[-END:])
    return found[1].strip() if found and len(found[1].split()) <= UNIT else ""


def places(reply: str) -> Iterator[str]:
    """Yield the places where a reply says that its answer stands, the most explicit first, of equal ones the last first."""
    corrected = reply[max((m.end() for m in CORRECTED.finditer(reply)), default=0) :]
    if STRONG.search(corrected) or WEAK.search(corrected) or boxed(corrected) is not None:
        reply = corrected
    yield from reversed([text for at in [*OBJECT.finditer(reply)][-MOST:] if (text := _of_object(reply, at.start()))])
    yield from reversed([m[2].strip() for m in [*TAG.finditer(reply)][-MOST:] if m[2].strip()])
    yield from _tails(STRONG, reply)
    if (box := boxed(reply)) is not None and box.strip():
        yield box
    yield from _tails(WEAK, reply)


def sentences(text: str) -> list[str]:
    """Cut a text at ends of sentences and lines; initials and common abbreviations end none."""
    found, start = [], 0
    for end in SENTENCE_END.finditer(text):
        if (
            end[0] == "\n"
            or STARTS.match(text, end.end())
            or not INITIAL.search(text[max(start, end.start() - LONGEST_INITIAL) : end.start() + 1])
        ):
            found.append(text[start : end.end()].strip())
            start = end.end()
    return [s for s in (*found, text[start:].strip()) if s]


def readings(reply: str) -> list[str]:
    """Return the ways to read the one answer that a text reply gives, from its whole words to the shortest clause.

    The last is the answer; the others are for golds that hold what elsewhere ends an answer, such as a full stop or a bracket.
    """
    reply = spoken(reply)
    return [reply.strip(), bare(reply), *(marked(reply) or _narrowed(_own_line(reply)))]


def marked(reply: str) -> list[str]:
    """Return the readings of the place where a reply says that its answer stands; none when it says so nowhere."""
    whole = []
    for place in places(reply):
        text = boxed(place) or place
        whole += [text, bare(text)]
        if not COMMENT.match(place):
            return [*whole, *_narrowed(text)]
    return []


def _narrowed(text: str) -> list[str]:
    """Return a text bare, then its first sentence, then that without a remark in brackets or a reason."""
    text = bare(text)
    first, *rest = sentences(text) or [""]
    if rest and (RETRACTED.search(" ".join(rest)) or text.startswith(("[", "{")) or not _is_prose(" ".join(rest))):
        return [text]
    short = bare(first)
    short = bare(REMARK.sub("", short)) if short.endswith(")") else short
    clause = bare(REASON.split(short, maxsplit=1)[0])
    return [text, bare(first), short, clause or short]


def _is_prose(text: str, words: int = 3) -> bool:
    return len(text.split()) >= words


def _own_line(reply: str) -> str:
    """Return the first line of a reply that goes on with prose, the last of one that led up to it, else the whole reply."""
    lines = [line.strip() for line in bare(reply).splitlines() if line.strip()]
    first, *others = lines or [""]
    if not others:
        return reply
    if len(first.split()) <= FEW and _is_prose(others[0], 5) and not first.endswith(("?", ":")):
        return reply if RETRACTED.search(" ".join(others)) else first
    if len(lines[-1].split()) <= FEW and lines[-2].endswith((".", ":", "!")) and _is_prose(lines[-2], 5):
        return lines[-1]
    return reply


def _tails(marker: re.Pattern[str], reply: str) -> list[str]:
    """Return what follows each mark, to the end of its line; what follows a mark that is negated is no answer."""
    found = []
    for mark in reversed(list(marker.finditer(reply))[-MOST:]):
        tail = reply[mark.end() :].lstrip()
        line = tail.partition("\n")[0].strip()
        if line.count("**") == 1:  # it closes what opened before the mark
            line = line.removeprefix("**").strip()
        if "would" in mark[0].lower() and (later := [*WEAK.finditer(line)]):  # "would be 18 if …, so the answer is 16"
            line = line[later[-1].end() :].strip()
        if line and not NEGATED.match(line):
            found.append(_fence(tail) if line.startswith("```") else line)
    return found


def _fence(tail: str) -> str:
    end = tail.find("```", 3)
    return tail if end < 0 else tail[: end + 3]


def _of_object(reply: str, start: int) -> str:
    """Return what the JSON object that begins there names as the answer; empty when there is none, or it names none."""
    try:
        held: dict[str, Any] = JSON.raw_decode(reply, start)[0]
    except (ValueError, RecursionError):
        return ""
    for key, value in reversed(held.items()):
        if key.strip().lower() in KEYS and value is not None and value != "":
            return whole_characters(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return ""
