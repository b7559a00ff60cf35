"""`Salts`: the two secrets that generated instances of validation and test are drawn from."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from pydantic import Field

from tracebench_core.specs.base import Spec, Split

SALT_BYTES = 32
PUBLIC = "public"
"""In place of a hash: instances that anybody can compute."""


class Salts(Spec):
    """Two secrets, as hex digits. Train has none: its instances are seen by all who train."""

    validation: str = Field(pattern=r"^[0-9a-f]{64}$", repr=False)
    test: str = Field(pattern=r"^[0-9a-f]{64}$", repr=False)

    @classmethod
    def draw(cls) -> Salts:
        """Return new secrets."""
        return cls(validation=secrets.token_hex(SALT_BYTES), test=secrets.token_hex(SALT_BYTES))

    @classmethod
    def derived(cls, given: str) -> Salts:
        """Return the secrets that follow from one in hex digits: one for each split, of which neither tells the other."""
        key = bytes.fromhex(given)
        return cls(**{name: hmac.digest(key, name.encode(), "sha256").hex() for name in cls.model_fields})

    @property
    def by_split(self) -> Mapping[Split, str]:
        """The secrets by split."""
        return {"validation": self.validation, "test": self.test}

    @property
    def hashes(self) -> dict[str, str]:
        """What may be told before a run has ended: SHA-256 of each secret's hex digits."""
        return {name: hashlib.sha256(salt.encode()).hexdigest() for name, salt in self}

    @property
    def digest(self) -> str:
        """Both hashes as one short name, which tells jobs apart."""
        return hashlib.sha256("".join(self.hashes.values()).encode()).hexdigest()[:12]
