"""How the inner loops run: small work as the Python it is written in, large work compiled, and blocks of it on all cores.

Compiling a loop takes a second or two, once per machine; even a compiled one takes a third of a second to load. So a *kernel*
runs interpreted until the time that it has taken so, or is about to take, would have paid for that. Its results are the same
either way. ``NUMBA_DISABLE_JIT=1`` keeps all of them interpreted.

Interpreted loops see arrays as memoryviews, whose elements are Python's own numbers. Such an element takes half as long to read
as one of an array, and a sum of two of them a quarter; nor is there a largest one. ``numbers`` stands in for ``np`` there: it
has the functions that loops use, and no more.
"""

import os
import pickle
import re
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial, update_wrapper
from hashlib import blake2b
from importlib import import_module
from itertools import islice
from math import frexp
from pathlib import Path
from threading import RLock
from time import thread_time
from types import FunctionType, SimpleNamespace
from typing import Any, Literal, TypeVar, cast

import numpy as np

from treecast.progress import report

_WORD = 2**64 - 1  # the largest uint64


def to_views(argument: Any) -> Any:
    """Return an array as a memoryview of it, one of NumPy's numbers as Python's, and so for all of a tuple."""
    if isinstance(argument, tuple):
        return tuple(map(to_views, cast("tuple[Any, ...]", argument)))
    if isinstance(argument, np.ndarray):
        return memoryview(cast("Any", argument))
    number: Any = argument
    return number.item() if isinstance(argument, np.generic) else number


def from_views(result: Any) -> Any:
    """Return a memoryview as an array of the same memory, one of NumPy's numbers as Python's, and so for all of a tuple."""
    if isinstance(result, memoryview):
        return np.asarray(result)
    if isinstance(result, tuple):
        return tuple(map(from_views, cast("tuple[Any, ...]", result)))
    number: Any = result
    return number.item() if isinstance(result, np.generic) else number


def _uint64(value: int) -> int:
    return value & _WORD


_KINDS: dict[Any, Any] = {_uint64: np.uint64}


def _making(make: Callable[..., Any]) -> Callable[..., memoryview]:
    def made(*arguments: Any) -> memoryview:
        return memoryview(make(*(_KINDS.get(a, a) if callable(a) else a for a in arguments)))

    return made


numbers = SimpleNamespace(
    zeros=_making(np.zeros),
    ones=_making(np.ones),
    empty=_making(np.empty),
    full=_making(np.full),
    arange=_making(np.arange),
    int8=np.int8,  # these four as kinds of arrays only
    int16=np.int16,
    int32=np.int32,
    uint8=np.uint8,
    uint64=_uint64,
    int64=int,
    float64=float,
    bool_=bool,
)


Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])
Policy = Literal["pay", "interpret", "compile"]
"""When kernels are compiled: where it pays; never; always."""

_STEP, _ARRAY_STEP = 0.1e-6, 0.5e-6  # seconds that a step of an inner loop takes interpreted, with views, with arrays
_IMPORT = 0.5  # … that it takes to import numba
_LOAD = 0.04  # … to load a compiled kernel
_COMPILE, _PER_BYTE = 0.3, 0.8e-3  # … to compile one, and for each byte of its bytecode

_FOLDER = Path(__file__).parent
_IMPORTS = re.compile(r"^from treecast\.(compiled|[\w.]+\.kernels\.\w+) import", re.MULTILINE)

_lock = RLock()
# a child of a fork could wait for ever for a compiler that ran in another thread
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_policy: Policy = "interpret" if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else "pay"
_interpreted = 0.0  # seconds that all kernels have run interpreted, in calls from elsewhere
_blocks = 1  # how many such calls as the one under way are to follow, that included
_told = False
_spaces: dict[tuple[int, str, bool], dict[str, Any]] = {}
_compilable: dict[Any, "Kernel"] = {}  # functions that stay as they are, and their forms for the compiler


class Kernel:
    """A function over arrays, a loop, that is compiled when that pays.

    Names of other kernels in it mean the interpreted ones while it is interpreted, else the compiled ones. ``work`` returns about
    how many steps its innermost loops take, given its arguments; by default the sizes of the arrays. ``arrays``: whether it does
    more with its arrays than to read and write elements, ask for their length and shape, and make new ones. Those that do not
    are given memoryviews when interpreted, whose elements are Python's own numbers: twice as fast as NumPy's, and never too
    large. ``inline``: whether it is compiled into each of its callers. ``by_numpy``: does the same to arrays without loops of
    Python's; it runs in place of the interpreted loop.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        work: Callable[..., float] | None = None,
        *,
        arrays: bool = False,
        inline: bool = False,
        by_numpy: Callable[..., Any] | None = None,
    ) -> None:
        update_wrapper(self, function)
        self.function: Any = function
        self.arrays, self.inline, self.work, self._by_numpy = arrays, inline, work, by_numpy
        self.spent = 0.0  # seconds interpreted
        self._run: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run it, interpreted or compiled."""
        run = self._run
        if run is not None and _policy != "interpret":
            return run(*arguments)
        if self._pays(arguments):
            return self._load()(*arguments)
        return self.interpret(*arguments)

    def interpret(self, *arguments: Any) -> Any:
        """Run it as Python."""
        global _interpreted
        began = thread_time()
        try:
            if self.arrays:
                with np.errstate(over="ignore", invalid="ignore"):  # compiled code wraps around, and tells nothing
                    return from_views(self.plain(*arguments))
            return from_views(self.plain(*map(to_views, arguments)))
        finally:
            taken = thread_time() - began
            self.spent += taken
            _interpreted += taken

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The Python function, which calls other kernels interpreted."""
        return self._by_numpy or _copy(self.function, _space(self, "plain"), self.function.__qualname__)

    @cached_property
    def machine_code(self) -> Any:
        """The compiler's object, which compiles when it is called, and calls other kernels compiled."""
        numba: Any = import_module("numba")  # by name: numba has no types, and strict checking would follow it
        copy = _copy(self.function, _space(self, "machine_code"), self.stored_name)
        # no C code calls it: a twelfth of the time
        options = {"nogil": True, "no_cfunc_wrapper": True, "inline": "always" if self.inline else "never"}
        try:
            kept = numba.njit(cache=True, **options)(copy)
        except RuntimeError:  # nowhere to keep it
            return numba.njit(**options)(copy)
        _forgive(kept)
        return kept

    @property
    def stored_name(self) -> str:
        """The name under which its compiled code is kept."""
        return f"{self.function.__qualname__}_{_stamp(Path(self.function.__code__.co_filename))}"

    def _pays(self, arguments: Sequence[Any]) -> bool:
        if _policy != "pay":
            return _policy == "compile"
        steps = self.work(*arguments) if self.work else sum(a.size for a in arguments if isinstance(a, np.ndarray))
        ahead = steps * _blocks * (_ARRAY_STEP if self.arrays else _STEP)
        # what has run so little is not worth a look at the folders of compiled code
        if self.spent + ahead < _LOAD:
            return False
        # importing numba costs once, for all kernels together
        here = 0.0 if "numba" in sys.modules else _IMPORT
        price = _LOAD if self.stored_name in _stored() else self.compile_seconds
        return self.spent + ahead >= price and _interpreted + ahead >= here

    @property
    def compile_seconds(self) -> float:
        """About how long it takes to compile, with all that it calls."""
        return _COMPILE + _PER_BYTE * sum(len(f.__code__.co_code) for f in self._called())

    def _called(self) -> set[Any]:
        found: set[Any] = {self.function}
        fresh: list[Kernel] = [self]
        while fresh:
            kernel = fresh.pop()
            for name in kernel.function.__code__.co_names:
                other = _kernel(kernel.function.__globals__.get(name))
                if other and other.function not in found:
                    found.add(other.function)
                    fresh.append(other)
        return found

    def _load(self) -> Any:
        with _lock:
            if self._run is None:
                if self.stored_name not in _stored():
                    _tell()
                self._run = self.machine_code
        return self._run


def njit(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a kernel of ``function``; see there for ``work``, ``arrays`` and ``inline``."""
    return Kernel(function, **options) if function else partial(Kernel, **options)


inline = njit(inline=True)
"""Make a kernel of a function that is compiled into each of its callers."""


def compilable(function: Function) -> Function:
    """Let a function of Python's own numbers be compiled into the kernels that call it; itself, it stays as it is."""
    _compilable[function] = Kernel(function, inline=True)
    return function


def _kernel(value: Any) -> Kernel | None:
    """Return the kernel that a value is, or that it is to the compiler."""
    return value if isinstance(value, Kernel) else _compilable.get(value) if isinstance(value, FunctionType) else None


@compilable
def lowest_bit(value: Any) -> int:
    """Return the place of the lowest bit set in an int64 that is not 0."""
    return frexp(value & -value)[1] - 1


def _copy(function: Any, space: dict[str, Any], name: str) -> Any:
    copy = FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, name
    return copy


def _space(kernel: Kernel, form: Literal["plain", "machine_code"]) -> dict[str, Any]:
    """Return the meaning of names in a kernel: as in its module, but kernels in one of their forms."""
    known = kernel.function.__globals__
    views = form == "plain" and not kernel.arrays
    key = id(known), form, views
    if key not in _spaces:
        space = _spaces[key] = known.copy()  # kept before it is filled: kernels call each other
        for name, value in list(space.items()):
            other = _kernel(value) if form == "machine_code" else value
            if isinstance(other, Kernel):
                space[name] = getattr(other, form)
        if views and "np" in space:
            space["np"] = numbers
    return _spaces[key]


@cache
def _stamp(file: Path) -> str:
    """Return a digest of the file of a kernel and of those that it imports: compiled code is kept with that of its callees."""
    digest, found, fresh = blake2b(digest_size=4), set[Path](), [file]
    while fresh:
        if (one := fresh.pop()) not in found and one.exists():
            found.add(one)
            fresh += [_FOLDER / f"{name.replace('.', '/')}.py" for name in _IMPORTS.findall(one.read_text("utf-8"))]
    for each in sorted(found):
        digest.update(each.read_bytes())
    return digest.hexdigest()


@cache
def _stored() -> set[str]:
    """Return which kernels have been compiled on this machine, as numba names its files, wherever it may keep them."""
    named, home = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    parent = Path(named) if named else Path(home).expanduser() / "numba"
    folders = [] if named else [*_FOLDER.rglob("__pycache__")]
    with suppress(OSError):
        folders += parent.iterdir()
    found = set[str]()
    for folder in folders:
        try:
            found |= {name.split(".")[1].split("-")[0] for name in os.listdir(folder) if name.endswith(".nbi")}
        except OSError:
            continue
    return found


def _forgive(dispatcher: Any) -> None:
    """Let a form that cannot be kept, or be read again, be no error."""
    kept = dispatcher._cache

    def forgiving(method: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except (OSError, EOFError, ValueError, pickle.PickleError):  # full, taken away, or cut short
                return None

        return attempt

    kept.save_overload, kept.load_overload = forgiving(kept.save_overload), forgiving(kept.load_overload)


def _tell() -> None:
    """Say once, to a terminal or a notebook, why nothing else happens for some seconds."""
    global _told
    if not _told and sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        sys.stderr.write("compiling kernels for large work (once per machine) …\n")
        sys.stderr.flush()
    _told = True


@contextmanager
def policy(chosen: Policy) -> Generator[None]:
    """Run kernels interpreted only, compiled only, or as it pays, whatever the environment says."""
    global _policy
    before, _policy = _policy, chosen
    try:
        yield
    finally:
        _policy = before


def in_parallel(work: Callable[[int, int], Result], total: int, block: int, name: str = "") -> list[Result]:
    """Run ``work(start, stop)`` over the blocks of ``0 … total-1`` on all cores; return the results in order.

    ``work`` should run kernels. While they run interpreted, one thread does it all, since others would wait for it. An
    exception, Ctrl-C too, stops after the blocks that are under way. ``name``: under which name to report how far the work
    is; empty: not at all.
    """
    results = list[Result]()
    compiled = "numba" in sys.modules
    start = 0

    def run(start: int) -> Result:
        return work(start, min(start + block, total))

    while start < total and not (compiled and total - start > block):
        before = _interpreted
        with _followed_by(-(-(total - start) // block)):
            results.append(run(start))
        # no kernel has run interpreted in this block
        compiled = before == _interpreted
        start = min(start + block, total)
        if name:
            report(start, total, name)
    if name and not total:
        report(0, 0, name)
    left, workers = iter(range(start, total, block)), os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        while some := list(islice(left, 16 * workers)):  # few at a time: there may be millions
            for start, made in zip(some, pool.map(run, some), strict=True):
                results.append(made)
                if name:
                    report(min(start + block, total), total, name)
    return results


@contextmanager
def _followed_by(blocks: int) -> Generator[None]:
    global _blocks
    before, _blocks = _blocks, blocks
    try:
        yield
    finally:
        _blocks = before
