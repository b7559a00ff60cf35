#!/bin/bash
reward=1
printf '1\n2\n\n40\n' > /tmp/a.txt
: > /tmp/b.txt
check() {  # file, expected sum
  got=$(timeout 5 /app/sum.sh "$1" 2>&1 | head -c 200)
  if [ "$got" = "$2" ]; then echo "ok: $1 sums to $2"; else echo "wrong: $1 sums to $2, not to '$got'"; reward=0; fi
}
[ -x /app/sum.sh ] || { echo "wrong: /app/sum.sh is not executable"; reward=0; }
check /tmp/a.txt 43
check /tmp/b.txt 0
echo $reward > /logs/verifier/reward.txt
