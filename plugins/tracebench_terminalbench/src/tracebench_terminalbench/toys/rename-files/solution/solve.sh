#!/bin/bash
cd /app/photos
for f in IMG_*.JPG; do
  n=${f#IMG_}
  mv "$f" "$(printf 'photo-%03d.jpg' "${n%.JPG}")"
done
