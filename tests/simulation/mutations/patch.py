"""Load modules in a broken form: the text of a module is changed on its way from its file to the compiler.

Nothing is written anywhere, and only this process has the broken form. It must be asked for before anything has
imported the module; what is already there would go on unbroken, and the mutation would prove nothing. The failure
this prevents: a mutation that silently no longer breaks anything, because the rule has moved.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from tests.simulation.mutations.mutation import Edit, Mutation

ROOT = Path(__file__).resolve().parents[3]


class Moved(Exception):
    """The text that a mutation would change is not where it was."""


def file_of(module: str) -> Path:
    """Where a module of this repository is."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def changed(edits: Sequence[Edit]) -> dict[str, str]:
    """The broken text of each module that is named.

    Raises:
        Moved: an old text does not stand there exactly once.
    """
    texts: dict[str, str] = {}
    for module, old, new in edits:
        text = texts.get(module) or file_of(module).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise Moved(f"{module}: {text.count(old)} times, and not once: {old!r}")
        texts[module] = text.replace(old, new)
    return texts


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, module: str, path: str, text: str) -> None:
        super().__init__(module, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        # Neither the file's bytes nor a cache of them is asked.
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        text = self._texts.get(fullname)
        if text is None:
            return None
        loader = _Loader(fullname, str(file_of(fullname)), text)
        return importlib.util.spec_from_file_location(fullname, file_of(fullname), loader=loader)


def apply(mutation: Mutation) -> None:
    """From now on, in this process, the modules that it names are imported in their broken form.

    Raises:
        Moved: its text has changed, or one of the modules is already there.
    """
    texts = changed(mutation.edits)
    if early := [module for module in texts if module in sys.modules]:
        raise Moved(f"{', '.join(early)}: imported before it could be broken")
    sys.meta_path.insert(0, _Finder(texts))


def is_broken(module: str) -> bool:
    """Whether what this process has under a name is the broken form."""
    return isinstance(getattr(sys.modules.get(module), "__loader__", None), _Loader)
