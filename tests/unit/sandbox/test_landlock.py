"""The rights on files that each ABI of landlock knows: 13 bits, and one more with ABI 2, 3 and 5."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tracebench_sandbox.kernel import landlock


@pytest.mark.parametrize(("version", "bits"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (6, 16), (9, 16)])
def test_an_abi_knows_so_many_rights(version: int, bits: int) -> None:
    assert landlock._known(version) == 2**bits - 1


def test_what_is_not_there_is_left_out_and_the_rest_is_granted(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    grants = landlock.grants([tmp_path / "none", tmp_path, file], version=3, write=True)
    told = []
    for grant in grants:
        told.append(os.fstat(grant.fd).st_ino)
        rights, fd = struct.unpack("=Qi", grant.rule)
        assert (rights, fd) == (grant.rights, grant.fd)
        os.close(grant.fd)

    assert told == [tmp_path.stat().st_ino, file.stat().st_ino]
    assert grants[1].rights < grants[0].rights
    assert grants[1].rights & ~grants[0].rights == 0
