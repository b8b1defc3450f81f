-- the ledger of an account
SET LOCAL statement_timeout = 0;

SET LOCAL enable_nestloop = off;

SET LOCAL enable_mergejoin = off;

SET LOCAL jit = off;

SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN ledger_entries e USING (account_id, kind, subject_id)
WHERE t.account_id = $1::uuid
GROUP BY t.account_id, t.kind, t.subject_id, t.mode, t.debit, t.credit, t.amount, t.created_at
HAVING count(e.version) <> 2 OR sum(e.amount) <> 0
    OR count(*) FILTER (WHERE e.mode = t.mode AND e.ledger = t.debit
    AND e.amount = -t.amount) <> 1
    OR count(*) FILTER (WHERE e.mode = t.mode AND e.ledger = t.credit AND e.amount = t.amount) <> 1
ORDER BY t.account_id, t.created_at, t.kind, t.subject_id
LIMIT 1;

SELECT t.account_id, t.mode, t.ledger || ' entry ' || t.version AS place
FROM ledger_entries t
LEFT JOIN ledger_transfers x USING (account_id, kind, subject_id)
WHERE t.account_id = $1::uuid AND x.account_id IS NULL
ORDER BY t.account_id, t.mode, t.ledger, t.version
LIMIT 1;

SELECT account_id, mode, ledger || ' entry ' || version AS place
FROM (SELECT t.*, lag(balance_after, 1, 0::bigint) OVER w AS before,
    lag(version, 1, 0::bigint) OVER w AS version_before
    FROM ledger_entries t WHERE t.account_id = $1::uuid WINDOW w AS (PARTITION BY account_id, mode,
    ledger ORDER BY version)) e
WHERE (balance_after <> before + amount OR version <> version_before + 1)
ORDER BY e.account_id, e.mode, e.ledger, e.version
LIMIT 1;

SELECT t.account_id, t.mode, t.ledger || ' balance' AS place
FROM ledger_accounts t
LEFT JOIN ledger_entries e USING (account_id, mode, ledger)
WHERE t.account_id = $1::uuid
GROUP BY t.account_id, t.mode, t.ledger
HAVING t.balance <> COALESCE(sum(e.amount), 0) OR t.version <> count(e.version)
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'balances' AS place
FROM ledger_accounts t
WHERE t.account_id = $1::uuid
GROUP BY t.account_id, t.mode
HAVING sum(t.balance) <> 0 OR count(*) FILTER (WHERE t.ledger NOT IN ('disputed', 'owed')) <> 3
    OR bool_or(CASE t.ledger WHEN 'own' THEN false WHEN 'external' THEN false
    WHEN 'owed' THEN t.balance > 0
    ELSE t.balance < 0 END) -- The bank has paid out no more for an account than it received and
    the account owes. OR (t.account_id <> $2::uuid
    AND sum(t.balance) FILTER (WHERE t.ledger IN ('external', 'owed')) > 0)
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'owed balance' AS place
FROM ledger_accounts t
WHERE t.account_id = $1::uuid
GROUP BY t.account_id, t.mode
HAVING sum(t.owed) + COALESCE(sum(t.balance) FILTER (WHERE t.ledger = 'owed'), 0) <> 0
    OR bool_or(t.owed <> 0 AND (t.ledger <> 'available' OR t.balance <> 0))
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, t.ledger || ' balance' AS place
FROM ledger_accounts t
WHERE t.account_id = $1::uuid AND t.account_id <> $2::uuid
    AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.account_id)
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'outbound balance' AS place
FROM ledger_accounts t
WHERE t.account_id = $1::uuid AND t.ledger = 'outbound'
    AND t.balance <> COALESCE((SELECT sum(amount)
    FROM withdrawals w WHERE w.account_id = t.account_id AND w.mode = t.mode
    AND w.status = 'pending'), 0) + COALESCE((SELECT sum(amount)
    FROM refunds r WHERE r.account_id = t.account_id AND r.mode = t.mode AND r.status = 'pending'),
    0)
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'charge ' || t.id AS place
FROM charges t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.kind = 'charge_paid'
    AND x.subject_id = t.id
WHERE t.account_id = $1::uuid AND t.status = 'paid'
    AND (x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode)
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN charges c ON c.account_id = t.account_id AND c.id = t.subject_id
WHERE t.account_id = $2::uuid AND t.kind IN ($3) AND c.status IS DISTINCT FROM 'paid'
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, $1 || ' ' || t.id AS place
FROM withdrawals t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
    AND x.kind IN ($2,$3,$4)
WHERE t.account_id = $5::uuid
GROUP BY t.account_id, t.id, t.mode, t.status, t.amount
HAVING count(x.kind) <> CASE t.status WHEN 'pending' THEN 1 ELSE 2 END
    OR bool_or((x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode))
    OR bool_or(x.kind = $6) <> (t.status = $7) OR bool_or(x.kind = $8) <> (t.status = 'rejected')
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN withdrawals o ON o.account_id = t.account_id AND o.id = t.subject_id
WHERE t.account_id = $9::uuid AND t.kind IN ($10,$11,$12) AND o.id IS NULL
UNION ALL
SELECT t.account_id, t.mode, $13 || ' ' || t.id AS place
FROM refunds t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
    AND x.kind IN ($14,$15,$16)
WHERE t.account_id = $17::uuid
GROUP BY t.account_id, t.id, t.mode, t.status, t.amount
HAVING count(x.kind) <> CASE t.status WHEN 'pending' THEN 1 ELSE 2 END
    OR bool_or((x.amount, x.mode) IS DISTINCT FROM (t.amount, t.mode))
    OR bool_or(x.kind = $18) <> (t.status = $19) OR bool_or(x.kind = $20) <> (t.status = 'rejected')
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN refunds o ON o.account_id = t.account_id AND o.id = t.subject_id
WHERE t.account_id = $21::uuid AND t.kind IN ($22,$23,$24) AND o.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN charges c ON c.account_id = t.account_id AND c.id = t.subject_id
WHERE t.account_id = $1::uuid AND t.kind IN ($2)
    AND t.connection_id IS DISTINCT FROM COALESCE(c.connection_id, t.connection_id)
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN withdrawals w ON w.account_id = t.account_id AND w.id = t.subject_id
WHERE t.account_id = $3::uuid AND t.kind IN ($4)
    AND t.connection_id IS DISTINCT FROM COALESCE(w.connection_id, t.connection_id)
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.id = t.subject_id
WHERE t.account_id = $5::uuid AND t.kind IN ($6)
    AND t.connection_id IS DISTINCT FROM COALESCE(b.connection_id, t.connection_id)
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN refunds r ON r.account_id = t.account_id AND r.id = t.subject_id
LEFT JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
WHERE t.account_id = $7::uuid AND t.kind IN ($8)
    AND t.connection_id IS DISTINCT FROM COALESCE(c.connection_id, t.connection_id)
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'withdrawal ' || t.id AS place
FROM withdrawals t
LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.withdrawal_id = t.id
LEFT JOIN ledger_transfers x ON x.account_id = b.account_id AND x.kind = 'payout_returned'
    AND x.subject_id = b.id
WHERE t.account_id = $1::uuid
GROUP BY t.account_id, t.id, t.mode, t.returned_amount
HAVING t.returned_amount <> COALESCE(sum(b.amount), 0)
    OR bool_or(b.id IS NOT NULL AND (x.amount, x.mode) IS DISTINCT FROM (b.amount, t.mode))
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.id = t.subject_id
WHERE t.account_id = $2::uuid AND t.kind IN ($3) AND b.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'payment ' || t.id AS place
FROM unmatched_payments t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.kind = 'unmatched_received'
    AND x.subject_id = t.id
WHERE t.account_id = $1::uuid AND ((x.amount, x.mode, x.connection_id) IS DISTINCT FROM (t.amount,
    t.mode, t.connection_id) -- LIMIT keeps a look-up per payment: a join would read all charges.
    OR (SELECT c.id FROM charges c WHERE c.end_to_end_id = t.end_to_end_id LIMIT 1) IS DISTINCT
    FROM (SELECT s.charge_id FROM unmatched_resolutions s WHERE s.account_id = t.account_id
    AND s.payment_id = t.id))
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN unmatched_payments r ON r.account_id = t.account_id AND r.id = t.subject_id
WHERE t.account_id = $2::uuid AND t.kind IN ($3) AND r.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, CASE n.kind WHEN 'simulator' THEN 'test' ELSE 'live' END AS mode,
    'payment ' || t.end_to_end_id AS place
FROM booked_payments t
LEFT JOIN connections n ON n.id = t.connection_id
LEFT JOIN charges c ON c.account_id = t.account_id AND c.id = t.subject_id
LEFT JOIN unmatched_payments r ON r.account_id = t.account_id AND r.id = t.subject_id
LEFT JOIN payout_returns b ON b.account_id = t.account_id AND b.id = t.subject_id
LEFT JOIN connection_trials y ON y.account_id = t.account_id AND y.id = t.subject_id
WHERE t.account_id = $1::uuid AND NOT (c.id IS NOT NULL AND c.status = 'paid'
    AND c.connection_id = t.connection_id
    AND COALESCE(t.end_to_end_id IN (c.end_to_end_id, c.connection_id || ' ' || c.end_to_end_id),
    false) OR r.id IS NOT NULL AND r.connection_id = t.connection_id
    AND COALESCE(t.end_to_end_id IN (r.end_to_end_id, r.connection_id || ' ' || r.end_to_end_id),
    false) OR b.id IS NOT NULL AND b.connection_id = t.connection_id
    AND COALESCE(t.end_to_end_id IN (b.return_id, b.connection_id || ' ' || b.return_id), false)
    OR y.id IS NOT NULL AND y.connection_id = t.connection_id
    AND COALESCE(t.end_to_end_id IN (y.end_to_end_id, y.connection_id || ' ' || y.end_to_end_id),
    false))
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'charge ' || t.id AS place
FROM charges t
LEFT JOIN refunds r ON r.account_id = t.account_id AND r.charge_id = t.id AND r.mode = t.mode
WHERE t.account_id = $1::uuid
GROUP BY t.account_id, t.id, t.mode, t.refunded_amount, t.refund_held_amount
HAVING t.refunded_amount <> COALESCE(sum(r.amount) FILTER (WHERE r.status = 'completed'), 0)
    OR t.refund_held_amount <> COALESCE(sum(r.amount) FILTER (WHERE r.status = 'pending'), 0)
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'dispute ' || t.id AS place
FROM disputes t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.id
    AND x.kind IN ($1,$2,$3,$4)
WHERE t.account_id = $5::uuid
GROUP BY t.account_id, t.id, t.mode, t.status, t.amount, t.lost_amount, t.connection_id
HAVING COALESCE(sum(x.amount) FILTER (WHERE x.credit = 'disputed'), 0) NOT IN (t.amount,
    CASE t.status WHEN 'won' THEN 0 ELSE t.amount END)
    OR COALESCE(sum(x.amount) FILTER (WHERE x.kind = 'dispute_won'), 0) <> CASE t.status
    WHEN 'won' THEN COALESCE(sum(x.amount) FILTER (WHERE x.credit = 'disputed'), 0)
    WHEN 'lost' THEN t.amount - t.lost_amount ELSE 0 END
    OR COALESCE(sum(x.amount) FILTER (WHERE x.kind = 'dispute_lost'), 0) <> COALESCE(t.lost_amount,
    0) OR bool_or(x.mode <> t.mode
    OR (x.kind = 'dispute_lost' AND x.connection_id IS DISTINCT FROM t.connection_id))
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN disputes d ON d.account_id = t.account_id AND d.id = t.subject_id
WHERE t.account_id = $6::uuid AND t.kind IN ($7,$8,$9,$10) AND d.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'fee ' || t.id AS place
FROM bank_fees t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.kind IN ($1,$2)
    AND x.subject_id = t.id
WHERE t.account_id = $3::uuid AND (x.amount, x.mode, x.connection_id,
    x.kind) IS DISTINCT FROM (t.amount, t.mode, t.connection_id, CASE
    WHEN t.is_return THEN 'fee_returned' ELSE 'fee_paid' END)
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN bank_fees f ON f.account_id = t.account_id AND f.id = t.subject_id
WHERE t.account_id = $4::uuid AND t.kind IN ($5,$6) AND f.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'write-off ' || t.id AS place
FROM write_offs t
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.kind = 'owed_written_off'
    AND x.subject_id = t.id
LEFT JOIN ledger_transfers h ON h.account_id = $1::uuid AND h.kind = 'write_off_paid'
    AND h.subject_id = t.id
WHERE t.account_id = $2::uuid AND ((x.amount, x.mode, x.connection_id) IS DISTINCT FROM (t.amount,
    t.mode, t.connection_id) OR (h.amount, h.mode, h.connection_id) IS DISTINCT FROM (t.amount,
    t.mode, t.connection_id))
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN write_offs o ON o.id = t.subject_id
    AND (o.account_id = t.account_id OR t.kind = 'write_off_paid')
WHERE t.account_id = $3::uuid AND t.kind IN ($4,$5) AND o.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, r.mode, 'settlement of ' || t.payment_id AS place
FROM unmatched_resolutions t
JOIN unmatched_payments r ON r.account_id = t.account_id AND r.id = t.payment_id
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.subject_id = t.payment_id
    AND x.kind = CASE t.entry WHEN 'keep' THEN 'unmatched_kept' ELSE 'unmatched_released' END
LEFT JOIN ledger_transfers m ON m.account_id = t.to_account_id AND m.kind = CASE t.entry
    WHEN 'match' THEN 'charge_paid' ELSE 'unmatched_credited' END
    AND m.subject_id = COALESCE(t.charge_id, t.payment_id)
LEFT JOIN unmatched_returns b ON b.account_id = t.account_id AND b.payment_id = t.payment_id
    AND b.status = 'completed'
WHERE t.account_id = $1::uuid AND ((x.amount, x.mode) IS DISTINCT FROM (r.amount, r.mode)
    OR (x.credit = 'external' AND x.connection_id IS DISTINCT FROM r.connection_id)
    OR (t.to_account_id IS NOT NULL
    AND (m.amount, m.mode, m.connection_id) IS DISTINCT FROM (r.amount, r.mode,
    r.connection_id)) OR b.amount IS DISTINCT FROM CASE t.entry WHEN 'give_back' THEN r.amount END)
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN unmatched_resolutions s ON s.payment_id = t.subject_id AND CASE t.kind
    WHEN 'unmatched_credited' THEN s.to_account_id ELSE s.account_id END = t.account_id
    AND CASE t.kind WHEN 'unmatched_credited' THEN s.entry = 'credit'
    WHEN 'unmatched_kept' THEN s.entry = 'keep' ELSE s.entry <> 'keep' END
WHERE t.account_id = $2::uuid AND t.kind IN ($3,$4,$5) AND s.payment_id IS NULL
UNION ALL
SELECT t.account_id, t.mode, 'return ' || t.id AS place
FROM unmatched_returns t
LEFT JOIN unmatched_resolutions s ON s.account_id = t.account_id AND s.payment_id = t.payment_id
WHERE t.account_id = $6::uuid AND t.status = 'completed' AND s.entry IS DISTINCT FROM 'give_back'
ORDER BY account_id, mode, place
LIMIT 1;

SELECT t.account_id, t.mode, 'try ' || t.id || ' ' || m.kind AS place
FROM connection_trials t
CROSS JOIN LATERAL (VALUES ('trial_received', t.amount, t.end_to_end_id IS NOT NULL),
    ('trial_returned', t.amount, t.refund_status IS NOT DISTINCT FROM 'completed'),
    ('trial_sent', t.payout_amount, t.payout_status IS NOT DISTINCT FROM 'completed')) AS m (kind,
    amount, is_moved)
LEFT JOIN ledger_transfers x ON x.account_id = t.account_id AND x.kind = m.kind
    AND x.subject_id = t.id
WHERE t.account_id = $1::uuid AND CASE
    WHEN m.is_moved THEN (x.amount, x.mode, x.connection_id) IS DISTINCT FROM (m.amount, t.mode,
    t.connection_id) ELSE x.kind IS NOT NULL END
UNION ALL
SELECT t.account_id, t.mode, 'transfer ' || t.kind || ' of ' || t.subject_id AS place
FROM ledger_transfers t
LEFT JOIN connection_trials b ON b.account_id = t.account_id AND b.id = t.subject_id
WHERE t.account_id = $2::uuid AND t.kind IN ($3,$4,$5) AND b.id IS NULL
ORDER BY account_id, mode, place
LIMIT 1;

SELECT (SELECT count(*) FROM ledger_transfers t WHERE t.account_id = $1::uuid) AS transfers,
    (SELECT count(*) FROM ledger_entries t WHERE t.account_id = $2::uuid) AS entries,
    (SELECT count(*) FROM ledger_accounts t WHERE t.account_id = $3::uuid) AS ledgers;
