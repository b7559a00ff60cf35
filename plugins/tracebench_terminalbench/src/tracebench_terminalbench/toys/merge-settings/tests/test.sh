#!/bin/bash
printf 'colour=blue\ndebug=yes\nhost=localhost\nport=9000\n' > /tmp/expected.ini
if cmp -s /tmp/expected.ini /app/merged.ini; then
  echo "ok: /app/merged.ini"; echo 1 > /logs/verifier/reward.txt
else
  echo "wrong: /app/merged.ini differs:"; diff /tmp/expected.ini /app/merged.ini 2>&1 | head -20; echo 0 > /logs/verifier/reward.txt
fi
