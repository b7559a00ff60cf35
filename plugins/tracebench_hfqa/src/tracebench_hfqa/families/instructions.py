"""The 25 kinds of instruction of IFEval (Zhou et al. 2023, arXiv 2311.07911), each with what tells whether a reply follows it.

Two of them count by a tokenizer whose model would have to be downloaded; here sentences and words are cut by rules. Languages are told by
langdetect, with a fixed seed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

Told = Mapping[str, Any]
Check = Callable[[str, Told], bool]

ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Lt|Capt|Sgt|Rev|Gov|Sen|Rep|Mt|No|vs|etc|approx|Inc|Ltd|Co|Corp|e\.g|i\.e|a\.m|p\.m|U\.S)"
    r"|(?:^|[\s(])[A-Z])\.$"
)
LONGEST_ABBREVIATION = 10
"""Characters before an end of a sentence that tell whether `ABBREVIATED` stands there."""
SENTENCE = re.compile(r"(?<![.!?])[.!?]++[\"'”\u2019)\]*_]*+(?=\s+[^a-z\s]|\s*$)")
WORD = re.compile(r"\w+")
TOKEN = re.compile(r"(?<!\w)[nN]['\u2019][tT](?!\w)|[^\W_]+(?:[.&/-][^\W_]+)*\.?|['\u2019][^\W_]+")
SHORTENED = re.compile(r"(?i)(?<=\w)(n['\u2019]t)\b|(?=['\u2019](?:s|m|d|ll|re|ve)\b)")
FENCES = ("```json", "```Json", "```JSON", "```")
PARAGRAPHS = re.compile(r"\s?\*\*\*\s?")
PUNCTUATION = frozenset(".,?!'\"")
VERDICTS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def _compared(count: int, bound: Any, relation: Any) -> bool:
    """Compare a count as an instruction says: `less than`, else `at least`."""
    return count < int(bound) if relation == "less than" else count >= int(bound)


def sentences(text: str) -> int:
    """Count sentences."""
    count, start, length = 0, 0, len(text.rstrip())
    for end in SENTENCE.finditer(text):
        before = text[max(start, end.end() - LONGEST_ABBREVIATION) : end.end()]
        if end.end() < length and ABBREVIATED.search(before):
            continue
        count, start = count + 1, end.end()
    return count + bool(text[start:].strip())


def capitals(text: str) -> int:
    """Count words all of whose letters are capitals; a shortened form is two words, as in `DO|N'T`."""
    return sum(token.isupper() for token in TOKEN.findall(SHORTENED.sub(r" \1 ", text)))


def language(text: str) -> str | None:
    """Return the code of a text's language; None where it has none that can be told."""
    import langdetect  # noqa: PLC0415 - three instructions need it

    langdetect.DetectorFactory.seed = 0
    try:
        return str(langdetect.detect(text))
    except langdetect.LangDetectException:
        return None


def _is_in(text: str, code: str) -> bool:
    found = language(text)
    return found is None or found == code  # as the authors have it


def _paragraphs(text: str, told: Told) -> bool:
    parts = PARAGRAPHS.split(text)
    if any(not part.strip() for part in parts[1:-1]):
        return False
    return sum(bool(part.strip()) for part in parts) == int(told["num_paragraphs"])


def _first_word(text: str, told: Told) -> bool:
    parts = text.split("\n\n")
    count = sum(bool(part.strip()) for part in parts)
    nth = int(told["nth_paragraph"])
    if nth > count or not parts[nth - 1].strip():
        return False
    word = parts[nth - 1].split()[0].lstrip("'").lstrip('"')
    end = next((i for i, letter in enumerate(word) if letter in PUNCTUATION), len(word))
    return count == int(told["num_paragraphs"]) and word[:end].lower() == str(told["first_word"]).lower()


def _postscript(text: str, told: Told) -> bool:
    marker = str(told["postscript_marker"])
    known = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
    return re.search(known.get(marker, marker.lower()), text.lower()) is not None


def _bullets(text: str, told: Told) -> bool:
    stars = re.findall(r"^[^\S\n]*\*[^\*].*$", text, re.MULTILINE)
    dashes = re.findall(r"^[^\S\n]*-.*$", text, re.MULTILINE)
    return len(stars) + len(dashes) == int(told["num_bullets"])


def _highlights(text: str, told: Told) -> bool:
    one = sum(bool(found.strip("*").strip()) for found in re.findall(r"\*[^\n\*]*\*", text))
    two = sum(bool(found[2:-2].strip()) for found in re.findall(r"\*\*[^\n\*]*\*\*", text))
    return one + two >= int(told["num_highlights"])


def _sections(text: str, told: Told) -> bool:
    splitter = rf"\s?{told['section_spliter']}\s?\d+\s?"
    return len(re.split(splitter, text)) - 1 >= int(told["num_sections"])


def _is_json(text: str, _told: Told) -> bool:
    text = text.strip()
    for fence in FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str, _told: Told) -> bool:
    lines = (line[line.find("<<") : line.rfind(">>") + 2] for line in text.split("\n") if "<<" in line)
    return any(found.lstrip("<").rstrip(">").strip() for found in lines if found.endswith(">>"))


def _placeholders(text: str, told: Told) -> bool:
    found = re.finditer(r"\[[^\]\n]*+(\])?", text)  # one that is not closed goes to the end of its line
    return sum(one[1] is not None for one in found) >= int(told["num_placeholders"])


def _two_responses(text: str, _told: Told) -> bool:
    parts = text.split("******")
    if any(not part.strip() for part in parts[1:-1]):
        return False
    held = [part.strip() for part in parts if part.strip()]
    return len(held) == 2 and held[0] != held[1]  # noqa: PLR2004 - two are asked for


def _counted(pattern: str, text: str) -> int:
    return len(re.findall(pattern, text, re.IGNORECASE))


CHECKS: Mapping[str, Check] = {
    "keywords:existence": lambda t, k: all(re.search(word, t, re.IGNORECASE) for word in k["keywords"]),
    "keywords:frequency": lambda t, k: _compared(_counted(k["keyword"], t), k["frequency"], k["relation"]),
    "keywords:forbidden_words": lambda t, k: not any(_counted(rf"\b{word}\b", t) for word in k["forbidden_words"]),
    "keywords:letter_frequency": lambda t, k: _compared(
        Counter(t.lower())[str(k["letter"]).lower()], k["let_frequency"], k["let_relation"]
    ),
    "language:response_language": lambda t, k: _is_in(t, k["language"]),
    "length_constraints:number_sentences": lambda t, k: _compared(sentences(t), k["num_sentences"], k["relation"]),
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": lambda t, k: _compared(len(WORD.findall(t)), k["num_words"], k["relation"]),
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": _placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:constrained_response": lambda t, _: any(verdict in t for verdict in VERDICTS),
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _is_json,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": lambda t, k: t.strip().lower().startswith(str(k["prompt_to_repeat"]).strip().lower()),
    "startend:end_checker": lambda t, k: t.strip().strip('"').lower().endswith(str(k["end_phrase"]).strip().lower()),
    "startend:quotation": lambda t, _: len(t.strip()) > 1 and t.strip()[0] == t.strip()[-1] == '"',
    "change_case:capital_word_frequency": lambda t, k: _compared(
        capitals(t), k["capital_frequency"], k["capital_relation"]
    ),
    "change_case:english_capital": lambda t, _: t.isupper() and _is_in(t, "en"),
    "change_case:english_lowercase": lambda t, _: t.islower() and _is_in(t, "en"),
    "punctuation:no_comma": lambda t, _: "," not in t,
}
"""By name, as rows name them: whether a text follows the instruction, whose settings the row gives."""
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "keywords:existence": ("keywords",),
    "keywords:frequency": ("keyword", "frequency", "relation"),
    "keywords:forbidden_words": ("forbidden_words",),
    "keywords:letter_frequency": ("letter", "let_frequency", "let_relation"),
    "language:response_language": ("language",),
    "length_constraints:number_sentences": ("num_sentences", "relation"),
    "length_constraints:number_paragraphs": ("num_paragraphs",),
    "length_constraints:number_words": ("num_words", "relation"),
    "length_constraints:nth_paragraph_first_word": ("num_paragraphs", "nth_paragraph", "first_word"),
    "detectable_content:number_placeholders": ("num_placeholders",),
    "detectable_content:postscript": ("postscript_marker",),
    "detectable_format:number_bullet_lists": ("num_bullets",),
    "detectable_format:number_highlighted_sections": ("num_highlights",),
    "detectable_format:multiple_sections": ("section_spliter", "num_sections"),
    "combination:repeat_prompt": ("prompt_to_repeat",),
    "startend:end_checker": ("end_phrase",),
    "change_case:capital_word_frequency": ("capital_frequency", "capital_relation"),
}
"""What a row must give for an instruction."""
RELATIONS = ("less than", "at least")
LISTS = frozenset({"keywords", "forbidden_words"})
LANGUAGES = frozenset({"language:response_language", "change_case:english_capital", "change_case:english_lowercase"})
"""Instructions that are checked by a package which a row may be read without."""


def fault_of(name: str, told: Told) -> str:
    """Return why nothing can be checked by an instruction's settings; empty where it can."""
    for key in SETTINGS.get(name, ()):
        value = told[key]
        if key.endswith("relation") and value not in RELATIONS:
            return f"`{key}` is {value!r}, and it is one of {', '.join(f'`{one}`' for one in RELATIONS)}"
        if key in LISTS and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            return f"`{key}` is no list of texts"
    try:
        if name not in LANGUAGES:
            CHECKS[name]("a", told)
    except (re.error, ArithmeticError, IndexError, TypeError, ValueError) as err:
        return str(err)
    return ""


def follows(text: str, name: str, told: Told) -> bool:
    """Tell whether a text follows an instruction; an empty one follows none."""
    return bool(text.strip()) and CHECKS[name](text, told)


def loosened(text: str) -> list[str]:
    """Return the texts of which one must follow by the loose measure: without its first or last line, or both, or without asterisks."""
    lines = text.split("\n")
    cut = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(part.replace("*", "") for part in cut)]
