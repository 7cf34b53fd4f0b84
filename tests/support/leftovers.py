"""Finds and ends processes that a test run started and left behind.

A process is known by a mark in the environment that it inherited, so nothing is ended that the run did not
start: neither a neighbour's lab nor a process that got a recycled pid. A process that was started with a
cleared environment is not found.

As a command: ``python -m tests.support.leftovers NAME=VALUE`` ends them and names each.
"""

import os
import sys

import psutil

GRACE_SECONDS = 5.0


def find(name: str, value: str) -> list[psutil.Process]:
    """Return the live processes whose environment has ``name=value``, without this one and its ancestors."""
    spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    return [
        process
        for process in psutil.process_iter()
        if process.pid not in spared and _has(process, name, value)
    ]


def lasting(name: str, value: str, grace: float = GRACE_SECONDS) -> list[psutil.Process]:
    """Return those of `find` that do not end by themselves within ``grace`` seconds.

    What watched over a process that has just been ended needs a moment to see it, and a browser's
    helpers outlive the browser by one: neither is left behind.
    """
    _, alive = psutil.wait_procs(find(name, value), timeout=grace)
    return [process for process in alive if _has(process, name, value)]


def end(processes: list[psutil.Process]) -> None:
    """Ask the processes to end, and kill those that have not after ``GRACE_SECONDS``."""
    for process in processes:
        _signal(process, "terminate")
    _, alive = psutil.wait_procs(processes, timeout=GRACE_SECONDS)
    for process in alive:
        _signal(process, "kill")
    psutil.wait_procs(alive, timeout=GRACE_SECONDS)


def describe(process: psutil.Process) -> str:
    """Return ``pid command line`` of a process, or its pid alone when it is gone."""
    try:
        return f"{process.pid} {' '.join(process.cmdline())[:160]}"
    except psutil.Error:
        return str(process.pid)


def _has(process: psutil.Process, name: str, value: str) -> bool:
    try:
        return process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def _signal(process: psutil.Process, how: str) -> None:
    try:
        process.resume()
        getattr(process, how)()
    except psutil.Error:
        pass


def main() -> None:
    """End what carries the mark given on the command line."""
    name, _, value = sys.argv[1].partition("=")
    left = find(name, value)
    for process in left:
        sys.stdout.write(f"ending what was left: {describe(process)}\n")
    end(left)


if __name__ == "__main__":
    main()
