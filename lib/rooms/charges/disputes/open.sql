-- a dispute that the balance covers in part
-- by the ORM: SELECT FROM charges

-- by the ORM: INSERT INTO ledger_accounts

SELECT
FROM charges
WHERE account_id = $1::uuid AND id = $2::uuid
FOR UPDATE;

SELECT
FROM ledger_accounts
WHERE account_id = $1::uuid AND mode = $2 AND ledger = 'available'
FOR UPDATE;

-- by the ORM: SELECT FROM disputes

SELECT c.amount - c.refunded_amount - d.disputed - d.lost AS disputable
FROM charges c
CROSS JOIN LATERAL troco_disputed(c.account_id, c.id) d
WHERE c.account_id = $1::uuid AND c.id = $2::uuid;

-- by the ORM: INSERT INTO disputes

-- by the ORM: SELECT FROM ledger_accounts

WITH moved AS (
  SELECT d.account_id, d.mode, d.id, d.connection_id, $1::bigint AS amount
  FROM disputes d
  WHERE d.account_id = $2::uuid AND d.id = $3::uuid
), source AS (
  SELECT NULL::timestamptz AS booked_at, d.account_id, d.mode, d.id, d.amount, d.connection_id
  FROM moved d
), ledger_moves AS (
  SELECT account_id, mode, id, amount, booked_at, NULL::uuid AS connection_id,
      row_number() OVER w AS nth, (sum(amount) OVER w)::bigint AS running
  FROM source
  WINDOW w AS (PARTITION BY account_id, mode ORDER BY id)
), ledger_totals AS (
  SELECT account_id, mode, sum(amount)::bigint AS total, count(*) AS moves
  FROM source
  GROUP BY account_id, mode
), ledger_locked AS (
  SELECT l.account_id, l.mode, l.ledger, t.moves, CASE WHEN l.ledger = $4 THEN t.total
      ELSE -t.total END AS change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($5, $6)
  ORDER BY l.account_id, l.mode, l.ledger
  FOR UPDATE OF l
), ledger_moved AS (
  UPDATE ledger_accounts l
  SET balance = l.balance + k.change, version = l.version + k.moves
  FROM ledger_locked k
  WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
  RETURNING l.account_id, l.mode, l.ledger, sign(k.change)::bigint AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $7, id, mode, $8, $9, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $10, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
)
SELECT json_build_object('id', d.id)::text AS json
FROM moved d;

WITH moved AS (
  SELECT d.account_id, d.mode, d.id, d.connection_id, $1::bigint AS amount
  FROM disputes d
  WHERE d.account_id = $2::uuid AND d.id = $3::uuid
), source AS (
  SELECT NULL::timestamptz AS booked_at, d.account_id, d.mode, d.id, d.amount, d.connection_id
  FROM moved d
), ledger_moves AS (
  SELECT account_id, mode, id, amount, booked_at, NULL::uuid AS connection_id,
      row_number() OVER w AS nth, (sum(amount) OVER w)::bigint AS running
  FROM source
  WINDOW w AS (PARTITION BY account_id, mode ORDER BY id)
), ledger_totals AS (
  SELECT account_id, mode, sum(amount)::bigint AS total, count(*) AS moves
  FROM source
  GROUP BY account_id, mode
), ledger_locked AS (
  SELECT l.account_id, l.mode, l.ledger, l.owed, CASE l.ledger WHEN $4 THEN 1 WHEN $5 THEN -1
      ELSE 0 END * t.total AS change,
      abs(CASE l.ledger WHEN $6 THEN 1 WHEN $7 THEN -1 ELSE 0 END) * t.moves AS moves,
      CASE l.ledger WHEN 'available' THEN $8::int * t.total ELSE 0 END AS owed_change
  FROM ledger_accounts l
  JOIN ledger_totals t USING (account_id, mode)
  WHERE l.ledger IN ($9,$10,$11)
  ORDER BY l.account_id, l.mode, l.ledger
  FOR UPDATE OF l
), ledger_moved AS (
  UPDATE ledger_accounts l
  SET balance = l.balance + k.change, version = l.version + k.moves, owed = l.owed + k.owed_change
  FROM ledger_locked k
  WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
  RETURNING l.account_id, l.mode, l.ledger, CASE l.ledger WHEN $12 THEN 1 ELSE -1 END AS side,
      l.balance - k.change AS balance_before, l.version - k.moves AS version_before
), ledger_transferred AS (
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount,
      connection_id, created_at)
  SELECT account_id, $13, id, mode, $14, $15, amount, connection_id,
      COALESCE(booked_at, clock_timestamp())
  FROM ledger_moves
), ledger_entered AS (
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount,
      balance_after, created_at)
  SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, $16, m.id, b.side * m.amount,
      b.balance_before + b.side * m.running, COALESCE(m.booked_at, clock_timestamp())
  FROM ledger_moved b
  JOIN ledger_moves m USING (account_id, mode)
  WHERE b.ledger IN ($17, $18)
)
SELECT json_build_object('id', d.id)::text AS json
FROM moved d;

WITH told AS (
  SELECT c.*, (SELECT row_to_json(r)
      FROM (SELECT d.id, d.charge_id AS transaction_id, d.amount, d.lost_amount, d.status, d.mode,
      to_char(d.respond_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS respond_by,
      to_char(d.closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS closed_at,
      to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
      to_char(d.updated_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at) r) AS dispute
  FROM disputes d
  JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
  WHERE d.account_id = $1::uuid AND d.id = $2::uuid
), source AS (
  SELECT c.account_id, c.mode, c.webhook_url, c.webhook_host, $3::uuid AS event_id,
      c.id AS subject_id, (SELECT row_to_json(r)
      FROM (SELECT c.br_code, c.amount, c.status, c.metadata, c.id, c.external_id, c.mode,
      c.client_name, c.client_email, c.client_doc, c.client_phone, c.ip, c.items, c.utms,
      c.webhook_url, to_char(c.expires_at AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS expires_at,
      to_char(c.paid_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS paid_at,
      c.end_to_end_id, c.refunded_amount,
      to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
      to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS updated_at,
      to_char(c.cancelled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS cancelled_at,
      c.description, c.webhook_masked, CASE
      WHEN c.payer_name IS NOT NULL THEN json_build_object('name', c.payer_name, 'document',
      c.payer_doc, 'bank', c.payer_bank) END AS payer, c.dispute) r) AS resource, $4::text AS trace
  FROM told c
), event_totals AS (
  SELECT account_id, mode, count(*) AS events
  FROM source
  GROUP BY account_id, mode
), event_locked AS (
  SELECT s.account_id, s.mode, t.events
  FROM event_sequences s
  JOIN event_totals t USING (account_id, mode)
  ORDER BY s.account_id, s.mode
  FOR UPDATE OF s
), event_numbered AS (
  UPDATE event_sequences s
  SET last = s.last + k.events
  FROM event_locked k
  WHERE s.account_id = k.account_id AND s.mode = k.mode
  RETURNING s.account_id, s.mode, s.last - k.events AS last_before
), event_rows AS (
  SELECT f.account_id, f.mode, f.event_id, f.subject_id, f.webhook_url, f.webhook_host, f.resource,
      f.trace, q.last_before + row_number() OVER (PARTITION BY f.account_id,
      f.mode ORDER BY f.subject_id) AS sequence
  FROM source f
  JOIN event_numbered q USING (account_id, mode)
), event_recorded AS (
  INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, trace, created_at)
  SELECT account_id, event_id, mode, sequence, $5, subject_id, resource, trace, clock_timestamp()
  FROM event_rows
), delivery_enqueued AS (
  INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status, due_at)
  SELECT r.account_id, md5(r.event_id::text || p.id::text)::uuid, r.mode, r.event_id, r.subject_id,
      r.sequence, p.id, p.url, COALESCE(p.host, troco_host_of(p.url)), 'pending', CASE
      WHEN p.disabled_at IS NULL THEN now() END
  FROM event_rows r
  JOIN webhook_endpoints p USING (account_id, mode)
  WHERE p.deleted_at IS NULL AND $6 = ANY (p.event_types)
)
SELECT json_build_object('id', c.id)::text AS json
FROM told c;
