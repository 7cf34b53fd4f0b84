#!/bin/sh
# Makes .venv from requirements.lock: every package pinned and hashed, then Fleetward itself, editable.
# Finds uv on PATH, or puts a private one into .uv/. FLEETWARD_SETUP_DRYRUN=1 prints instead of doing.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
run() { if [ "${FLEETWARD_SETUP_DRYRUN:-}" ]; then say "would run: $*"; else "$@"; fi; }

# A uv that knows `pip sync --require-hashes`.
usable() { "$1" pip sync --help 2>/dev/null | grep -q -- --require-hashes; }

find_uv() {
    for uv in "$(command -v uv || true)" .uv/bin/uv; do
        if [ -n "$uv" ] && usable "$uv"; then echo "$uv"; return 0; fi
    done
    return 1
}

# Debian cuts venv and pip out of python3, and forbids pip outside a venv; --target is allowed everywhere.
bootstrap_uv() {
    command -v python3 >/dev/null || {
        say "Python 3.11 or newer is needed. Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python"
        exit 1
    }
    say "uv is not on PATH: a private one goes into .uv/"
    if python3 -c 'import ensurepip, venv' 2>/dev/null; then
        run python3 -m venv .uv
        run .uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/uv.lock
    elif python3 -m pip --version >/dev/null 2>&1; then
        run python3 -m pip install --quiet --disable-pip-version-check --target .uv --require-hashes -r scripts/uv.lock
    else
        sh scripts/system-packages.sh python || exit 1
        run python3 -m venv .uv
        run .uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/uv.lock
    fi
}

uv=$(find_uv) || { bootstrap_uv; uv=$(find_uv || echo .uv/bin/uv); }
[ -x .venv/bin/python ] || run "$uv" venv --quiet --python '>=3.11' .venv
# Compiled here and once: a fleet starts a dozen interpreters side by side, and where PYTHONDONTWRITEBYTECODE is set
# each would compile all of its libraries again, every time.
run "$uv" pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes requirements.lock
run "$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
run .venv/bin/python -m compileall -q controlplane chaos
