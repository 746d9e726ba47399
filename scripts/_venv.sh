# Sourced by the other scripts: makes .venv and installs into it what they need, if that was not done before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv

# install NAME [EXTRA]: the package, editable, unless it is there and pyproject.toml has not changed since.
install() {
  local mark=".venv/installed-$1"
  if [ ! -f "$mark" ] || [ pyproject.toml -nt "$mark" ]; then
    echo "Installing into .venv ..." >&2
    .venv/bin/python -m pip install --quiet --editable ".$2"
    touch "$mark"
  fi
}
