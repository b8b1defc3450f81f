#!/bin/sh
# Every day a copy by pgBackRest: all of the database on Sundays, what has changed on other days. The newest is
# tried on Sundays. The health page shows both.
set -u
cd "${TROCO:-/troco}" || exit
troco() { node bin/troco.ts "$@"; }
until pgbackrest --stanza="$PGBACKREST_STANZA" stanza-create; do sleep 10; done
while true; do
  if [ "$(date -u +%u)" = 7 ]; then
    troco backup --type full && troco drill
  else
    # Of the whole database, if there is no copy yet.
    troco backup --type incr
  fi
  [ "${ONCE:-}" ] && exit
  sleep 86400
done
