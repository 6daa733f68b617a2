"""The command line as typer sees it: a table of commands, each imported when it is used."""

from __future__ import annotations

import importlib
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import numatune
from numatune.errors import UsageError

#: Command -> the module that defines a function of that name.
COMMANDS = {
    "inspect": "numatune.commands.inspect",
    "plan": "numatune.commands.plan",
    "check": "numatune.commands.check",
    "explain": "numatune.commands.explain",
    "snapshot": "numatune.commands.snapshot",
    "diff": "numatune.commands.diff",
}


def new_app(**settings: Any) -> typer.Typer:
    """Return a typer application without rich: on `--help` that alone would double the time."""
    return typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        **settings,
    )


#: Commands that take the options of the runtimes themselves.
LAUNCHING = ("plan", "check")

EPILOG = (
    "The options of the runtime itself are taken as it spells them, such as --numa distribute or "
    "-tb 64 of llama.cpp."
)


class LaunchCommand(TyperCommand):
    """A command that puts the options of the runtimes themselves into its context."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the runtimes' options out of the arguments. Raises UsageError."""
        from numatune.commands.runtime_options import split

        ctx.obj, rest = split(args)
        return super().parse_args(ctx, rest)


class Commands(TyperGroup):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build one command, None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        app = new_app()
        function = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        if cmd_name in LAUNCHING:
            app.command(cmd_name, cls=LaunchCommand, epilog=EPILOG)(function)
        else:
            app.command(cmd_name)(function)
        command = get_command(app)
        command.context_settings["help_option_names"] = ["-h", "--help"]
        return command


def print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        print(f"numatune {numatune.__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True),
    ] = False,
) -> None:
    """See what your LLM runtime will do with N threads on this machine, and what to change.

    Start with `numatune inspect`, then `numatune plan --cpu-infer 42`.
    """


def invoke(arguments: list[str]) -> int:
    """Run a command line and return its exit status. Raises UsageError where it is wrong."""
    app = new_app(cls=Commands, no_args_is_help=True)
    app.callback(context_settings={"help_option_names": ["-h", "--help"]})(root)
    command = get_command(app)
    try:
        status = command.main(arguments, prog_name="numatune", standalone_mode=False)
    except Exception as error:
        rethrow(error)
    return status if isinstance(status, int) else 0


def rethrow(error: Exception) -> NoReturn:
    """Raise typer's own errors as ours, without naming classes that moved between its versions."""
    if isinstance(error, typer.Abort):
        raise KeyboardInterrupt from None
    say = getattr(error, "format_message", None)
    if say is None:
        raise error
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        print(context.get_help())
        raise UsageError("say which command to run") from None
    path = context.command_path if context is not None else "numatune"
    raise UsageError(f"{say().rstrip('.')}; see `{path} --help`") from None
