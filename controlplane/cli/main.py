"""The command line's root: gathers the commands, and turns errors into words and exit codes.

Other packages add commands through the entry point group ``fleetward.commands``: a
callable that is given the Typer application.
"""

from __future__ import annotations

import gc
import os
import sys

from controlplane.cli.loading import loading

with loading():
    from importlib.metadata import entry_points

    import typer

    from controlplane.cli import (
        advise,
        backtest,
        documents,
        engines,
        halts,
        logs,
        playbook,
        runs,
        schema,
        serve,
        show,
        slo,
        tokens,
    )
    from controlplane.cli.output import Exit, err
    from controlplane.kernel.errors import FleetwardError, InvalidDocuments

HELP = """SRE control plane for LLM token services: keep them inside their SLA, and rehearse it.

Try it on this machine:  fleetward demo --once
Run the embedded fleet:  fleetward up

Exit codes: 0 as hoped; 1 the thing asked about failed (a drill's verdict, an invalid file);
2 wrong use, or could not start; 3 inconclusive or aborted.
"""


def build() -> typer.Typer:
    """Return the application with the commands of every installed package."""
    app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    for module in (
        serve,
        documents,
        playbook,
        backtest,
        slo,
        advise,
        engines,
        schema,
        show,
        runs,
        halts,
        tokens,
    ):
        module.register(app)
    for point in sorted(entry_points(group="fleetward.commands"), key=lambda found: found.name):
        try:
            point.load()(app)
        except Exception as error:  # noqa: BLE001 - a broken package must not take `halt` away
            err.print(
                f"fleetward: the commands of `{point.value}` cannot be loaded: {error}",
                style="yellow",
                markup=False,
            )
    return app


def main() -> None:
    """Run the command line and exit with a documented code."""
    logs.configure()
    try:
        with loading():
            app = build()
        gc.freeze()  # what is loaded is not looked through from now on either
        code = app(standalone_mode=False)
    except InvalidDocuments as error:
        err.print(str(error), style="red", markup=False)
        sys.exit(Exit.FAILED)
    except FleetwardError as error:
        err.print(f"fleetward: {error}", style="red", markup=False)
        sys.exit(Exit.MISUSE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to flush goes nowhere
        sys.exit(Exit.FAILED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        err.print(f"fleetward: {where}{error.strerror or error}", style="red", markup=False)
        sys.exit(Exit.MISUSE)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        show_usage = getattr(error, "show", None)
        if show_usage is None:
            raise
        show_usage()
        sys.exit(Exit.MISUSE)
    sys.exit(code if isinstance(code, int) else Exit.OK)


if __name__ == "__main__":
    main()
