"""The command line: ``dhp-sidecar run|tasks|show|verify|export|cluster|version``.

Flags come from the one table in ``config``; what a command does stands in ``sidecar.main`` (run),
``sidecar.ops.inspect`` (the reading ones) and ``sidecar.ops.cluster``, imported when used. The failure it
prevents: an error that says what is wrong but not what to do.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

import sidecar
from sidecar import failpoints
from sidecar.config import OPTIONS, Config, load, ready_to_run
from sidecar.errors import ConfigError, SidecarError, StoreError
from sidecar.ops import manual
from sidecar.options import Option, nearest

EXIT_USAGE, EXIT_STORE, EXIT_NOT_FOUND, EXIT_INTERRUPTED, EXIT_PIPE = 2, 3, 4, 130, 141
COMMANDS = ("run", "tasks", "show", "verify", "export", "cluster", "version")
READING = ("store", "config")  # the options that matter to who only reads
ASKING = {  # and to who asks a running sidecar
    "host": "where it listens",
    "control_port": "its control port",
    "config": "the TOML file that it was started with, instead of the two",
}

_ABOUT = """\
A sidecar that makes A2A tasks outlive their agents. It stands between clients and one agent, journals every
task, and lets another sidecar of the same group finish what a killed agent began."""

_EXAMPLES = """\
examples:
  dhp-sidecar run --agent http://127.0.0.1:9000
      clients call http://127.0.0.1:8470 instead of the agent; nothing else changes

  dhp-sidecar run --agent http://127.0.0.1:9001 --port 8480 --control-port 8482
      a second one on this machine: same store, same group, so each takes over from the other

  dhp-sidecar tasks                     what has happened
  dhp-sidecar show 0f3a                 one task's journal as a timeline (a unique beginning of its id is enough)
  dhp-sidecar verify                    check every hash, transition and view
  dhp-sidecar export 0f3a > task.jsonl  evidence that stands alone ...
  dhp-sidecar verify --file task.jsonl  ... and is checked without the store
  dhp-sidecar cluster show              who of a cluster is there, as the sidecar on this host sees it

exit codes: 0 fine, 1 something is wrong with a journal or a cluster, 2 usage or configuration, 3 the store,
4 no such task"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose faults are ``ConfigError``."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, so that every fault of usage ends in one place."""
        raise ConfigError(message, f"see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the process's exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        return dispatch(arguments, os.environ)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python's own flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SidecarError as error:
        return complain(error, sys.stderr)


def dispatch(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Parse and carry out one command.

    Raises:
        SidecarError: with what went wrong.
    """
    parser = build()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise ConfigError(
            f"no command is called {arguments[0]!r}", f"the nearest is {nearest(arguments[0], COMMANDS)}"
        )
    given, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise ConfigError(f"{unknown[0]} is not known here", _suggest(unknown[0]))
    if given.command == "version" or given.version:
        print(f"dhp-sidecar {sidecar.__version__}")
        return 0
    if given.command is None:
        parser.print_help()
        return 0
    flags = {row.name: value for row in OPTIONS if (value := getattr(given, row.name, None)) is not None}
    config = load(flags, env)
    if given.command == "cluster":
        return cluster(given, config)
    if given.command == "run":
        failpoints.arm(env)
        return run(config)
    return read(given, config)


def run(config: Config) -> int:
    """Start the sidecar and stay until it is told to stop."""
    # A container's process 1 ignores what it has no handler for: told to stop while it starts, it would be killed
    # only after the engine's patience. There is nothing to hand over yet; the server sets its own handlers.
    signal.signal(signal.SIGTERM, _end)
    ready = ready_to_run(config)
    from sidecar.main import run as serve  # noqa: PLC0415 - the server's libraries, which reading does not need

    return serve(ready) or 0


def _end(*_: object) -> NoReturn:
    sys.exit(0)


def read(given: argparse.Namespace, config: Config) -> int:
    """Carry out one of the commands that only read."""
    from sidecar.ops import inspect  # noqa: PLC0415 - prometheus, SQLAlchemy: not for --help

    screen = inspect.Screen(sys.stdout, sys.stdout.buffer, _colour(config), getattr(given, "json", False))
    if given.command == "verify" and given.file:
        if given.task:
            raise ConfigError("verify takes a TASK or --file, not both")
        if given.file == "-":
            return inspect.verify_export(screen, sys.stdin.buffer)
        with _opened(given.file) as lines:
            return inspect.verify_export(screen, lines)
    from sidecar.ops.shelf import open_shelf  # noqa: PLC0415

    with open_shelf(config.store_path) as shelf:
        if given.command == "tasks":
            return inspect.tasks(shelf, screen, limit=given.limit, state=given.state)
        if given.command == "show":
            return inspect.show(shelf, screen, given.task, everything=given.all)
        if given.command == "export":
            return inspect.export(shelf, screen, given.task)
        return inspect.verify_store(shelf, screen, given.task or "")


def cluster(given: argparse.Namespace, config: Config) -> int:
    """Ask a running sidecar about its cluster."""
    from sidecar.ops import cluster as asked  # noqa: PLC0415
    from sidecar.ops.inspect import Screen  # noqa: PLC0415

    screen = Screen(sys.stdout, sys.stdout.buffer, _colour(config), given.json)
    return asked.show(screen, asked.fetch(config.host, config.control_port), everything=given.all)


def complain(error: SidecarError, stream: TextIO) -> int:
    """Say what went wrong and what to do; the exit code that stands for it."""
    stream.write(f"dhp-sidecar: {error.message}\n" + (f"  {error.hint}\n" if error.hint else ""))
    if isinstance(error, ConfigError):
        return EXIT_USAGE
    if isinstance(error, StoreError):
        return EXIT_STORE
    return EXIT_NOT_FOUND if error.code == "no_such_task" else 1


def build() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="dhp-sidecar", description=_ABOUT, epilog=_EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="store_true", help="print the release")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _run_parser(commands)
    listing = _reading(commands, "tasks", "list tasks, newest first")
    listing.add_argument("--limit", type=_positive, default=50, metavar="N", help="how many (default: 50)")
    listing.add_argument("--state", default="", help="only those in this state (running, completed, working, ...)")
    showing = _reading(commands, "show", "one task's journal as a timeline")
    showing.epilog = "what the words mean (fence, claimed, bound, orphaned, ...): docs/glossary.md"
    showing.add_argument("task", metavar="TASK", help="a task id, or a unique beginning of one")
    showing.add_argument("--all", action="store_true", help="one line for every entry, repeated output too")
    checking = _reading(commands, "verify", "check hashes, transitions and stored views; changes nothing")
    checking.add_argument("task", metavar="TASK", nargs="?", help="one task (default: every task of the store)")
    checking.add_argument("--file", metavar="F", help="check an export instead of the store; - is standard input")
    exporting = _reading(commands, "export", "one task's journal as JSON Lines on standard output", json=False)
    exporting.add_argument("task", metavar="TASK", help="a task id, or a unique beginning of one")
    _cluster_parser(commands)
    commands.add_parser("version", help="print the release", allow_abbrev=False)
    return parser


def _run_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    knobs = "\n".join(f"  {row.name:<34} {row.default_text:<8} {row.text}" for row in OPTIONS if not row.flag)
    parser = commands.add_parser(
        "run", help="start the sidecar beside an agent", description=_ABOUT, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="every option can also be a variable (--control-port is DHP_SIDECAR_CONTROL_PORT) or a key of the\n"
        "file that --config names; a flag wins over a variable, a variable over the file.\n\n"
        f"options without a flag (a.b_c is DHP_SIDECAR_A__B_C, or b_c in the file's table [a]):\n{knobs}\n\n"
        "README.md says of each what smaller and larger values cost.",
    )  # fmt: skip
    for row in OPTIONS:
        if row.flag:
            _add(parser, row)


def _reading(commands: argparse._SubParsersAction[Parser], name: str, text: str, *, json: bool = True) -> Parser:
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    for row in OPTIONS:
        if row.name in READING:
            _add(parser, row)
    if json:
        parser.add_argument("--json", action="store_true", help="answer in JSON, one object a line")
    return parser


def _cluster_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    text = "what a running sidecar knows of its cluster"
    parser = commands.add_parser("cluster", help=text, description=manual.CLUSTER)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=Parser, required=True)
    showing = actions.add_parser(
        "show", help="members, sidecars, owners, and what is wrong", allow_abbrev=False,
        description=manual.CLUSTER_SHOW, epilog=manual.CLUSTER_SHOW_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    for row in OPTIONS:
        if row.name in ASKING:
            _add(showing, replace(row, text=ASKING[row.name]))
    showing.add_argument("--all", action="store_true", help="sessions that are over, too")
    showing.add_argument("--json", action="store_true", help="answer with one JSON object")


def _colour(config: Config) -> bool:
    return sys.stdout.isatty() and config.log.colour != "never"


def _add(parser: Parser, row: Option) -> None:
    if row.type is bool:
        parser.add_argument(row.flag, dest=row.name, action="store_const", const="true", help=row.text)
        return
    default = row.default_text if row.default_text == "required" else f"default: {row.default_text}"
    text = f"{row.text} ({default})".replace("%", "%%")
    parser.add_argument(row.flag, dest=row.name, metavar=_metavar(row), help=text)


def _metavar(row: Option) -> str:
    if row.shape in ("url", "store"):
        return "URL"
    if row.expected.startswith("one of "):
        return row.expected.removeprefix("one of ").replace(", ", "|")
    return {"config": "FILE.toml", "host": "HOST"}.get(row.name, "PORT" if row.shape == "port" else "NAME")


def _suggest(unknown: str) -> str:
    name = unknown.split("=", 1)[0]
    if not name.startswith("-"):
        return "see dhp-sidecar --help"
    names = {row.flag or row.name: row for row in OPTIONS}
    extra = ("--json", "--limit", "--state", "--all", "--file", "--help")
    spelt = {
        candidate.lstrip("-").replace(".", "-").replace("_", "-"): candidate for candidate in (*names, *extra)
    }
    best = spelt[nearest(name.lstrip("-").replace(".", "-").replace("_", "-"), spelt)]
    row = names.get(best)
    if row is not None and not row.flag:
        return f"the nearest is {row.name}, which has no flag: set {row.env} or the key in the file"
    return f"the nearest is {best}"


def _opened(file: str) -> BinaryIO:
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
