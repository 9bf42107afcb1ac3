#!/usr/bin/env bash
# Runs the Python client against the built daemon; the virtual environment and the stubs are kept under the target directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=${CARGO_TARGET_DIR:-target}
work=$target/python-client
requirements=tests/python/requirements.txt

if ! cmp -s "$requirements" "$work/installed.txt"; then
  rm -rf "$work"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: -r "$requirements"
  cp "$requirements" "$work/installed.txt"
fi

rm -rf "$work/stubs"
mkdir -p "$work/stubs"
# google/rpc/status.proto comes with googleapis-common-protos: generating it again would register it twice.
"$work/venv/bin/python" -m grpc_tools.protoc -Iproto --python_out="$work/stubs" --grpc_python_out="$work/stubs" \
  proto/pairsight/v1/*.proto
PYTHONPATH="$work/stubs" "$work/venv/bin/python" tests/python/test_client.py "$target/debug/pairsight"
