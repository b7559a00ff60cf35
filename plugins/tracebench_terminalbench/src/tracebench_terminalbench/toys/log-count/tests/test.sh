#!/bin/bash
awk '$2=="ERROR"{c[$3]++} END{for(s in c) print s","c[s]}' /tests/service.log | sort -t, -k2,2nr -k1,1 > /tmp/expected.csv
total=$(wc -l < /tmp/expected.csv)
found=0
while read -r row; do grep -qxF "$row" /app/errors.csv 2>/dev/null && found=$((found + 1)); done < /tmp/expected.csv
recall=$(awk "BEGIN{print $found / $total}")
if cmp -s /tmp/expected.csv /app/errors.csv; then reward=1; echo "ok: /app/errors.csv"; else reward=0; echo "wrong: /app/errors.csv has $found of $total rows right"; fi
echo "{\"reward\": $reward, \"row_recall\": $recall}" > /logs/verifier/reward.json
