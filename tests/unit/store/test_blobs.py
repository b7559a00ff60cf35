import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_runs.storage.blobs import INLINE_BYTES, BlobStore

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.text(min_size=1500, max_size=3000),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.just("blob"), inner, max_size=4)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=10), json_values, max_size=4))
def test_expanding_undoes_shrinking(values):
    with tempfile.TemporaryDirectory() as folder:
        blobs = BlobStore(Path(folder))
        small = blobs.shrink(values)
        assert all(len(json.dumps(v)) <= INLINE_BYTES for v in small.values())
        assert blobs.expand(small) == values
        assert blobs.shrink(small) == small


@given(st.binary(max_size=5000))
def test_what_is_put_is_got(data):
    with tempfile.TemporaryDirectory() as folder:
        blobs = BlobStore(Path(folder))
        digest = blobs.put(data)
        assert digest == blobs.put(data) == content_hash(data)
        assert BlobStore(Path(folder)).get(digest) == data


def test_only_large_values_leave(tmp_path):
    blobs = BlobStore(tmp_path / "blobs")
    small, large = "x" * (INLINE_BYTES - 2), "x" * (INLINE_BYTES - 1)
    assert blobs.shrink({"small": small, "large": large}) == {
        "small": small,
        "large": {"blob": content_hash(json.dumps(large).encode())},
    }


def test_a_value_that_looks_like_a_reference_is_kept_as_it_is(tmp_path):
    blobs = BlobStore(tmp_path)
    values = {"x": {"blob": "0" * 64}, "y": {"blob": "short"}}
    assert blobs.expand(blobs.shrink(values)) == values


def test_a_blob_that_a_power_cut_emptied_is_written_again(tmp_path):
    digest = BlobStore(tmp_path).put(b"content")
    BlobStore(tmp_path).path(digest).write_bytes(b"")
    blobs = BlobStore(tmp_path)
    with pytest.raises(RunDirError, match="cannot be read"):
        blobs.get(digest)
    blobs.put(b"content")
    blobs.sync()
    assert blobs.get(digest) == b"content"


def test_a_missing_or_swapped_blob_is_named(tmp_path):
    blobs = BlobStore(tmp_path)
    one, two = blobs.put(b"one"), blobs.put(b"two")
    blobs.path(one).write_bytes(blobs.path(two).read_bytes())
    with pytest.raises(RunDirError, match="holds something else"):
        blobs.get(one)
    with pytest.raises(RunDirError, match="cannot be read"):
        blobs.get("f" * 64)


def test_any_string_survives(tmp_path):
    blobs = BlobStore(tmp_path)
    values = {"x": "\ud800" * INLINE_BYTES}
    assert blobs.expand(blobs.shrink(values)) == values
