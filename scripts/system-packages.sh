#!/bin/sh
# Installs the system's own packages that a set of work needs, by apt-get or brew, only when they are missing.
#   sh scripts/system-packages.sh demo|test|python
# Debian starts a daemon when it installs one; ours are started by Fleetward on ports of its own, so the
# system's are kept from starting. FLEETWARD_SETUP_DRYRUN=1 prints instead of doing.
set -eu

say() { printf 'setup: %s\n' "$*" >&2; }
run() { if [ "${FLEETWARD_SETUP_DRYRUN:-}" ]; then say "would run: $*"; else "$@"; fi; }

# Names that a tool may have here, what Debian calls its package, what Homebrew calls it.
commands_of() {
    case $1 in
        prometheus)   echo prometheus ;;
        redis)        echo redis-server ;;
        alertmanager) echo "prometheus-alertmanager alertmanager" ;;
        etcd)         echo etcd ;;
        browser)      echo "chromium chromium-browser google-chrome google-chrome-stable" ;;
        python)       echo fleetward-always-missing ;;
    esac
}
debian_package() {
    case $1 in
        redis)        echo redis-server ;;
        alertmanager) echo prometheus-alertmanager ;;
        etcd)         echo etcd-server ;;
        browser)      if apt-cache show chromium >/dev/null 2>&1; then echo chromium; else echo chromium-browser; fi ;;
        python)       echo python3-venv ;;
        *)            echo "$1" ;;
    esac
}
brew_package() { case $1 in browser) echo google-chrome ;; *) echo "$1" ;; esac; }

present() {
    for command in $(commands_of "$1"); do
        if command -v "$command" >/dev/null; then return 0; fi
    done
    [ "$1" = browser ] && [ -d "/Applications/Google Chrome.app" ]
}

missing_of() { for tool in "$@"; do present "$tool" || printf '%s ' "$tool"; done; }

cannot() {
    say "these are needed and not here: $1"
    say "$2"
    exit 1
}

install_debian() {
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || cannot "$*" "run as root, or install sudo: apt-get install$(for t in "$@"; do printf ' %s' "$(debian_package "$t")"; done)"
        as_root=sudo
    fi
    run $as_root apt-get update -q
    packages=$(for tool in "$@"; do debian_package "$tool"; done)
    guard=/usr/sbin/policy-rc.d
    if [ ! -e "$guard" ] && [ -z "${FLEETWARD_SETUP_DRYRUN:-}" ]; then
        printf '#!/bin/sh\nexit 101\n' | $as_root tee "$guard" >/dev/null
        trap '$as_root rm -f "$guard"' EXIT INT TERM
        $as_root chmod +x "$guard"
    fi
    # shellcheck disable=SC2086 # a list of words
    run $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $packages
    if [ -d /run/systemd/system ]; then # nor at the next boot
        for package in $packages; do
            case $package in etcd-server) unit=etcd ;; *) unit=$package ;; esac
            run $as_root systemctl disable --quiet "$unit" 2>/dev/null || true
        done
    fi
}

install_brew() {
    for tool in "$@"; do
        kind=--formula
        [ "$tool" = browser ] && kind=--cask
        run brew install --quiet "$kind" "$(brew_package "$tool")"
    done
}

case ${1:-} in
    demo)   tools="prometheus redis" ;;
    test)   tools="prometheus redis alertmanager etcd browser" ;;
    python) tools="python" ;;
    *)      say "usage: $0 demo|test|python"; exit 2 ;;
esac

# shellcheck disable=SC2086 # a list of words
missing=$(missing_of $tools)
[ -n "$missing" ] || exit 0
say "missing: $missing"
if command -v apt-get >/dev/null; then
    install_debian $missing
elif command -v brew >/dev/null; then
    install_brew $missing
else
    cannot "$missing" "neither apt-get nor brew is here: install them by your package manager, then run again"
fi
[ -z "${FLEETWARD_SETUP_DRYRUN:-}" ] || exit 0
[ "$1" = python ] && exit 0
missing=$(missing_of $tools)
[ -z "$missing" ] || cannot "$missing" "the package manager ended well, but they are not on PATH"
