#!/bin/bash
# Writes the reward, whatever the outcome; what it prints is the feedback.
if [ "$(cat /app/hello.txt 2>/dev/null)" = "Hello, harbor!" ]; then
  echo "ok: /app/hello.txt"; echo 1 > /logs/verifier/reward.txt
else
  echo "wrong: /app/hello.txt holds '$(head -c 200 /app/hello.txt 2>&1)'"; echo 0 > /logs/verifier/reward.txt
fi
