#!/usr/bin/env bash
# The conformance suite of the Model Context Protocol against the face: every server scenario of
# both generations, as a caller who may do all, and for one who may do some the scenarios of
# restricted-<version>.txt. It takes npm, and a node of its own.
set -euo pipefail
cd "$(dirname "$0")"
npm install --silent --no-audit --no-fund
out=$(mktemp -d)
pid=
stop() { [ -z "$pid" ] || { kill -INT "$pid" && wait "$pid"; } 2>/dev/null || true; pid=; }
trap 'stop; rm -rf "$out"' EXIT
go test -c -o "$out/server" ../../../server
export MCP_CONFORMANCE_ROLE=server

# serve ARGUMENTS... begins a server, and sets url.
serve() {
	stop
	"$out/server" 127.0.0.1:0 "$@" >"$out/url" 2>"$out/log" &
	pid=$!
	for _ in $(seq 600); do
		url=$(head -n1 "$out/url") && [ -n "$url" ] && return
		kill -0 "$pid" || break
		sleep 0.1
	done
	cat "$out/log" >&2
	return 1
}

# suite VERSION runs the scenarios, and leaves the summary.
suite() {
	node_modules/.bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js server \
		--url "$url" --requirements "$1" -o "$out/results" >"$out/said" 2>&1 || true
	sed -n '/=== SUMMARY ===/,$p' "$out/said" >"$out/summary"
	[ -s "$out/summary" ] || { cat "$out/said" >&2; return 1; }
}

failed=0
for version in 2025-11-25 2026-07-28; do
	serve
	suite "$version"
	echo "$version, all: $(grep '^Total:' "$out/summary")"
	if grep '^✗' "$out/summary" >&2; then failed=1; fi
	serve "$(cat restricted.json)"
	suite "$version"
	while read -r scenario; do
		grep -q "^✓ $scenario:" "$out/summary" || { echo "$version, restricted: $scenario" >&2; failed=1; }
	done <"restricted-$version.txt"
	echo "$version, restricted: $(wc -l <"restricted-$version.txt") scenarios"
done
exit $failed
