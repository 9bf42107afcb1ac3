#!/usr/bin/env bash
# Runs every test on both stores: ./test.sh
# With arguments it hands them to the test runner and runs nothing else: ./test.sh store::
#
# Needs a Rust toolchain and a C compiler. The rest is installed when it is missing (Debian: postgresql, python3-venv). A
# Postgres of its own is started as an unprivileged user on a free port of 127.0.0.1 and stopped at the end, whatever happens.
set -euo pipefail
cd "$(dirname "$0")"

die() { printf 'test.sh: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo -- "$@"
  else die "needs root to run: $*"; fi
}

install_packages() {
  command -v apt-get >/dev/null || die "missing, and there is no apt-get to install it with: $*"
  printf 'test.sh: installing %s\n' "$*" >&2
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# Debian's package starts a server of its own on port 5432 right after it is installed; the tests do not want that one.
install_postgres() {
  local no_cluster=/etc/postgresql-common/createcluster.d/pairsight-test.conf
  as_root mkdir -p "${no_cluster%/*}"
  as_root sh -c "echo 'create_main_cluster = false' > $no_cluster"
  install_packages postgresql
  as_root rm -f "$no_cluster"
}

postgres_bin() {
  local dir
  for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) "$(pg_config --bindir 2>/dev/null || true)"; do
    if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then echo "$dir"; return; fi
  done
}

command -v cargo >/dev/null || die "cargo is missing: install a Rust toolchain"
command -v cc >/dev/null || die "cc is missing: install a C compiler (Debian: gcc libc6-dev)"
[ -n "$(postgres_bin)" ] || install_postgres
pg_bin=$(postgres_bin)
[ -n "$pg_bin" ] || die "no initdb after installing postgresql"
python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3 python3-venv

# --- A Postgres of its own -----------------------------------------------------------------------------------------------

# The server refuses to run as root.
unprivileged=()
owner=$(id -un)
if [ "$(id -u)" = 0 ]; then
  owner=$(id -un postgres 2>/dev/null || echo nobody)
  unprivileged=(setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups env "HOME=/nonexistent")
fi

# Short, because the socket's path may have 107 bytes, and where the unprivileged user can reach it.
pg_dir=$(mktemp -d /tmp/pairsight-test.XXXXXX)
as_owner() { (cd "$pg_dir" && "${unprivileged[@]}" "$@"); }
stop_postgres() {
  if [ -f "$pg_dir/data/postmaster.pid" ]; then
    as_owner "$pg_bin/pg_ctl" -D "$pg_dir/data" -m immediate -w stop >/dev/null || kill -KILL "$(head -n 1 "$pg_dir/data/postmaster.pid")"
  fi
  rm -rf "$pg_dir"
}
trap stop_postgres EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$password" >"$pg_dir/password"
chown -R "$owner" "$pg_dir"
as_owner "$pg_bin/initdb" -D "$pg_dir/data" --username=pairsight --pwfile="$pg_dir/password" --auth=scram-sha-256 \
  --encoding=UTF8 --locale=C --no-sync >"$pg_dir/initdb.log" || { cat "$pg_dir/initdb.log" >&2; die "initdb failed"; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Another process can take the port between the look and the start: so a few tries. What is lost in a crash is of no interest.
port=
for _ in 1 2 3 4 5; do
  candidate=$(free_port)
  if as_owner "$pg_bin/pg_ctl" -D "$pg_dir/data" -l "$pg_dir/log" -w -t 60 -o "-p $candidate -k $pg_dir \
      -c listen_addresses=127.0.0.1 -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200" \
      start >/dev/null 2>&1; then
    port=$candidate
    break
  fi
done
[ -n "$port" ] || { cat "$pg_dir/log" >&2; die "Postgres did not start"; }
export PAIRSIGHT_TEST_POSTGRES_URL="postgres://pairsight:$password@127.0.0.1:$port/postgres"

# --- The tests -----------------------------------------------------------------------------------------------------------

# Every part runs, so that one run shows all that is broken; the exit status is that of the first part that failed.
status=0
part() {
  printf '\n-- %s\n' "$1"
  shift
  local code=0
  "$@" || code=$?
  [ "$status" != 0 ] || status=$code
}

run_tests() {
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --locked --no-fail-fast "$@"
  else
    cargo test --locked --no-fail-fast --lib --bins --tests "$@"
  fi
}

python_client() {
  cargo build --locked && tests/python/run.sh
}

if [ $# -gt 0 ]; then
  part "tests: $*" run_tests "$@"
else
  part "Python client" python_client
  part "examples in the documentation" cargo test --locked --doc
  part "tests on both stores" run_tests
fi
exit "$status"
