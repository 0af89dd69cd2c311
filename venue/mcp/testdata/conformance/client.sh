#!/usr/bin/env bash
# The client scenarios of the conformance suite against MCP servers as a venue reaches them: all
# that a revision scores. It takes npm, and a node of its own.
set -euo pipefail
cd "$(dirname "$0")"
npm install --silent --no-audit --no-fund
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
go test -c -o "$out/client" ../../../server
export MCP_CONFORMANCE_ROLE=client

failed=0
for version in 2025-11-25 2026-07-28; do
	node_modules/.bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js client \
		--command "$out/client" --requirements "$version" -o "$out/results" >"$out/said" 2>&1 || true
	sed -n '/=== SUITE SUMMARY ===/,/^Total:/p' "$out/said" >"$out/summary"
	[ -s "$out/summary" ] || { cat "$out/said" >&2; exit 1; }
	sed -n '/^Not scored/,$p' "$out/said" | sed -n 's/^  [✓✗] \([^ ]*\).*/\1/p' >"$out/unscored"
	echo "$version, client: $(grep -c '^✓' "$out/summary") scenarios pass"
	while read -r _ scenario rest; do
		scenario=${scenario%:}
		grep -qx "$scenario" "$out/unscored" && continue
		echo "$version, client: $scenario $rest" >&2
		failed=1
	done < <(grep '^✗' "$out/summary")
done
exit $failed
