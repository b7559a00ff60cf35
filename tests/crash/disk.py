"""A disk that crashes at a chosen operation, and knows at any time what a power cut would leave."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tracebench_runs.storage.files import FileSystem


class Crash(BaseException):
    """The process is gone: nothing after this reaches the disk."""


@dataclass(eq=False)
class FileNode:
    """A file as the program sees it, and as the disk holds it."""

    live: bytes = b""
    synced: bytes = b""


@dataclass(eq=False)
class FolderNode:
    """A folder as the program sees it, and as the disk holds it."""

    live: dict[str, Node] = field(default_factory=dict)
    synced: dict[str, Node] = field(default_factory=dict)


Node = FileNode | FolderNode


class CrashingFileSystem(FileSystem):
    """Counts operations, crashes at the chosen one, and knows at any time what a power cut would leave."""

    def __init__(self, root: Path, *, at: int = 0, mode: str = "before", boots: int = 0) -> None:
        self.operations = 0
        self.boots = boots
        self._root, self._at, self._mode = root, at, mode
        self._tree = _scan(root)
        self._open: dict[int, FileNode] = {}
        self._crashed = False

    def open(self, path: Path, flags: int, *, private: bool = False) -> int:
        if not flags & os.O_CREAT:
            fd = super().open(path, flags)
            self._open[fd] = self._node(path)
            return fd
        opened: list[int] = []

        def do() -> None:
            opened.append(FileSystem.open(self, path, flags, private=private))
            node = self._folder(path.parent).live.setdefault(path.name, FileNode())
            assert isinstance(node, FileNode)
            if flags & os.O_TRUNC:
                node.live = b""
            self._open[opened[0]] = node

        self._step(do)
        return opened[0]

    def boot_id(self) -> str:
        return f"boot {self.boots}"

    def write(self, fd: int, data: bytes) -> int:
        def put(part: bytes) -> None:
            os.write(fd, part)
            self._open[fd].live += part

        self._step(lambda: put(data), torn=lambda: put(data[: len(data) // 2]))
        return len(data)

    def fsync(self, fd: int) -> None:
        node = self._open[fd]
        self._step(lambda: setattr(node, "synced", node.live))

    def close(self, fd: int) -> None:
        self._open.pop(fd, None)
        super().close(fd)

    def close_all(self) -> None:
        for fd in list(self._open):
            self.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        def do() -> None:
            FileSystem.replace(self, source, target)
            self._folder(target.parent).live[target.name] = self._folder(source.parent).live.pop(source.name)

        self._step(do)

    def mkdir(self, path: Path) -> None:
        if path.exists() or not path.parent.exists():
            super().mkdir(path)  # raises
        self._step(
            lambda: (FileSystem.mkdir(self, path), self._folder(path.parent).live.update({path.name: FolderNode()}))
        )

    def unlink(self, path: Path) -> None:
        self._step(lambda: (FileSystem.unlink(self, path), self._folder(path.parent).live.pop(path.name)))

    def sync_folder(self, path: Path) -> None:
        folder = self._folder(path)
        self._step(lambda: setattr(folder, "synced", dict(folder.live)))

    def sync_all(self, paths) -> None:
        for path in paths:
            node = self._node(path)
            if isinstance(node, FolderNode):
                self.sync_folder(path)
            else:
                self._step(lambda node=node: setattr(node, "synced", node.live))

    def _step(self, do, *, torn=None) -> None:
        if self._crashed:
            raise Crash
        self.operations += 1
        if self.operations != self._at:
            do()
            return
        self._crashed = True
        match self._mode:
            case "before":
                pass
            case "torn":
                if torn is not None:
                    torn()
            case "after":
                do()
            case "data lost" | "names lost":
                do()
                self.cut_power(names_survive=self._mode == "data lost")
        raise Crash

    def cut_power(self, *, names_survive: bool) -> None:
        """Leave on the disk what was flushed, and with `names_survive` files that were not, without what they held."""
        shutil.rmtree(self._root)
        _materialise(self._tree, self._root, names_survive=names_survive)

    def _node(self, path: Path) -> Node:
        node: Node = self._tree
        for part in path.relative_to(self._root).parts:
            assert isinstance(node, FolderNode)
            node = node.live[part]
        return node

    def _folder(self, path: Path) -> FolderNode:
        node = self._node(path)
        assert isinstance(node, FolderNode)
        return node


def _scan(path: Path) -> FolderNode:
    entries: dict[str, Node] = {}
    for entry in path.iterdir():
        if entry.is_dir():
            entries[entry.name] = _scan(entry)
        else:
            content = entry.read_bytes()
            entries[entry.name] = FileNode(content, content)
    return FolderNode(entries, dict(entries))


def _materialise(folder: FolderNode, path: Path, *, names_survive: bool) -> None:
    path.mkdir()
    for name, node in (folder.live if names_survive else folder.synced).items():
        if isinstance(node, FolderNode):
            _materialise(node, path / name, names_survive=names_survive)
        else:
            (path / name).write_bytes(node.synced)
