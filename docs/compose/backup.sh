#!/bin/sh
# Dumps the database once a day into $FOLDER and records it, so that the health page shows it.
set -u
umask 077
folder=$FOLDER
while true; do
  began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  file=$folder/troco-$began.dump
  if pg_dump --format=custom --file="$folder/.unfinished" "$DATABASE_OWNER_URL" \
    && mv "$folder/.unfinished" "$file"; then
    bytes=$(wc -c < "$file")
    problem=NULL
  else
    bytes=0
    problem="'pg_dump failed: see the log of the service backup'"
  fi
  psql --no-psqlrc --quiet "$DATABASE_OWNER_URL" --command \
    "INSERT INTO backup_runs (kind, began_at, bytes, problem) VALUES ('backup', '$began', $bytes, $problem)"
  ls -1 "$folder"/troco-*.dump | sort -r | tail -n +8 | xargs -r rm --
  [ "${ONCE:-}" ] && exit
  sleep 86400
done
