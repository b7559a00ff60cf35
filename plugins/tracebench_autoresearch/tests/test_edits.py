"""Edits apply whole or not at all, and say why not."""

from __future__ import annotations

import pytest

from tracebench_autoresearch.edits.applying import read_proposal
from tracebench_autoresearch.edits.files import UnusableEdit

FILES = {"a.py": "x = 1\ny = 2\nx = 3\n", "lib/b.py": "def f():\n    return 1\n", "d.py": "q\nq\n"}
BLOCK = "{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
DIFF = """Hypothesis: better
```diff
--- a/lib/b.py
+++ b/lib/b.py
@@ -10,2 +10,3 @@
 def f():
-    return 1
+    # two
+    return 2
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+z = 1
```
That is all.
"""


def block(path: str, old: str, new: str) -> str:
    return BLOCK.format(path=path, old=old, new=new)


def test_blocks_apply_one_after_another_and_the_hypothesis_is_read() -> None:
    reply = (
        "**Hypothesis:** it is `better`\n\n"
        + block("`./a.py`", "y = 2", "y = 5")
        + "\n"
        + block("a.py", "y = 5\nx = 3", "y = 6")
    )

    proposal = read_proposal(reply, FILES)

    assert proposal.hypothesis == "it is `better"
    assert proposal.files == FILES | {"a.py": "x = 1\ny = 6\n"}


def test_a_block_in_a_fence_and_a_new_file() -> None:
    reply = "lib/b.py\n```python\n<<<<<<< SEARCH\n    return 1\n=======\n    return 2\n>>>>>>> REPLACE\n```\n" + block(
        "c.py", "", "q = 1"
    )

    assert read_proposal(reply, FILES).files == FILES | {"lib/b.py": "def f():\n    return 2\n", "c.py": "q = 1\n"}


def test_a_diff_with_wrong_line_numbers_and_a_new_file() -> None:
    proposal = read_proposal(DIFF, FILES)

    assert proposal.files == FILES | {"lib/b.py": "def f():\n    # two\n    return 2\n", "new.py": "z = 1\n"}


def test_lines_that_stand_twice_are_changed_where_the_hunk_says() -> None:
    diff = "--- a/d.py\n+++ b/d.py\n@@ -2 +2 @@\n-q\n+r\n"

    assert read_proposal(diff, FILES).files["d.py"] == "q\nr\n"


def test_a_diff_that_deletes_a_file() -> None:
    diff = "--- a/lib/b.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def f():\n-    return 1\n"

    assert read_proposal(diff, FILES).files == {path: text for path, text in FILES.items() if path != "lib/b.py"}


def test_a_whole_file_that_holds_a_fence() -> None:
    reply = 'Hypothesis: h\nFILE: a.py\n````python\ns = """\n```\n"""\n````\n'

    assert read_proposal(reply, FILES).files["a.py"] == 's = """\n```\n"""\n'


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("I would rather not.", "holds no edit"),
        ("", "holds no edit"),
        (block("d.py", "q", "z"), "2 times in `d.py`"),
        (block("a.py", "q = 1", "z = 1"), "is not in `a.py`"),
        (block("a.py", "y = 2", "y = 3") + block("a.py", "gone", "z"), "block 2 is not in"),
        (block("zz.py", "y = 2", "y = 3"), "there is no file `zz.py`"),
        (block("", "y = 2", "y = 3"), "there is no file ``"),
        (block("a.py", "y = 2", "y = 2"), "changes nothing"),
        ("a.py\n<<<<<<< SEARCH\ny = 2\n=======\ny = 3\n", "not complete"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 9\n+x = 1\n", "hunk 1 does not apply"),
        ("--- a/a.py\n+++ b/a.py\n", "has no hunk"),
        ("--- a/q.py\n+++ b/q.py\n@@ -1 +1 @@\n-x = 9\n+x = 1\n", "there is no file `q.py`"),
    ],
)
def test_an_edit_that_does_not_apply_is_refused_in_words(reply: str, words: str) -> None:
    with pytest.raises(UnusableEdit, match=r".") as raised:
        read_proposal(reply, FILES)

    assert words in str(raised.value)
    assert FILES["a.py"] == "x = 1\ny = 2\nx = 3\n"


def test_a_reply_of_empty_lines_is_read_in_a_time_that_grows_with_its_length() -> None:
    """Where it grew with its square the test would end by its timeout."""
    with pytest.raises(UnusableEdit, match="holds no edit"):
        read_proposal("x" + "\n" * 500_000 + "x", FILES)
