# Runs every command given, shows what it says, and ends with the sum of their "N passed, N failed" lines.
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for command in "$@"; do
	echo "== $command"
	$command >"$log" 2>&1
	code=$?
	cat "$log"
	line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
	if [ -z "$line" ]; then
		echo "$command ended with $code and without a count"
		failed=$((failed + 1))
		continue
	fi
	set -- $line
	passed=$((passed + $1))
	failed=$((failed + $3))
	if [ "$code" -ne 0 ] && [ "$3" -eq 0 ]; then
		echo "$command ended with $code"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
