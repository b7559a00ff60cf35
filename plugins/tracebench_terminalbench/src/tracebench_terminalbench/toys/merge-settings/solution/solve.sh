#!/bin/bash
cat /app/default.ini /app/local.ini | awk -F= '!/^#/ && NF {v[$1]=$0} END{for(n in v) print v[n]}' | LC_ALL=C sort > /app/merged.ini
