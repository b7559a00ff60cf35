#!/bin/bash
found=$(cd /app/photos && ls | tr '\n' ' ')
if [ "$found" = "notes.txt photo-007.jpg photo-012.jpg photo-105.jpg " ] && grep -q "picture 12" /app/photos/photo-012.jpg; then
  echo "ok: $found"; echo 1 > /logs/verifier/reward.txt
else
  echo "wrong: /app/photos holds $found"; echo 0 > /logs/verifier/reward.txt
fi
