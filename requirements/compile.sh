#!/bin/sh
# Writes the lock of every layer from its .in file. Needs `uv` on PATH; arguments go on to it (`--upgrade`).
# Each layer holds the ones below it whole, and is resolved against them: one version of a package in all of them.
set -eu
cd "$(dirname "$0")"
lock() {
    layer=$1; shift
    inputs=""; for name in "$@" "$layer"; do inputs="$inputs $name.in"; done
    constraints=""; for name in "$@"; do constraints="$constraints --constraints $name.txt"; done
    # shellcheck disable=SC2086 - both are lists of plain names
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary :all: --no-header \
        --annotation-style line --emit-build-options $options $constraints $inputs --output-file "$layer.txt" >/dev/null
    { echo "# Made by requirements/compile.sh from$inputs: change those and run it again."; sed -E 's/-c [a-z0-9]+\.txt(, )?//g; s/, $//' "$layer.txt"; } >"$layer.new"
    mv "$layer.new" "$layer.txt"
}
options=$*
lock base
lock embedded base
lock s3 base
lock sftp base
lock dev base embedded s3 sftp
