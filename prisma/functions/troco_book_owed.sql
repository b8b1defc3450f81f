-- version 1
-- Books all bookings of a call of troco_book that touches `owed`: by its movement, or by a credit to `available` of an
-- account that owes. The first cents of such a credit repay what is owed by a second movement, `owed_repaid`, of the same
-- subject; the entries of repayments follow those of all credits. The ledger `owed` is negative; the column `owed` of the
-- row of `available` repeats it as a positive number. Returns the number of entries without those of repayments.
-- Kept for troco_book, which holds the lock on the books; without the rights of its owner, it can write nothing.
CREATE OR REPLACE FUNCTION troco_book_owed(
  movement text, debit text, credit text, bookings troco_booking[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  written integer;
BEGIN
  WITH moves AS (
    SELECT b.account_id, b.mode, b.id, b.amount, b.connection_id, COALESCE(b.booked_at, clock_timestamp()) AS booked_at,
      (sum(b.amount) OVER (PARTITION BY b.account_id, b.mode ORDER BY b.id ROWS UNBOUNDED PRECEDING))::bigint AS running
    FROM unnest(bookings) b
  ), transfers AS (
    SELECT m.account_id, m.mode, m.id, m.booked_at, m.connection_id, m.amount, movement AS kind, debit AS debited,
      credit AS credited FROM moves m
    UNION ALL
    -- The part of the credit that falls within what is owed; credits before it repay first.
    SELECT m.account_id, m.mode, m.id, m.booked_at, NULL, LEAST(m.running, l.owed) - (m.running - m.amount),
      'owed_repaid', 'available', 'owed'
    FROM moves m CROSS JOIN LATERAL (
      SELECT a.owed FROM public.ledger_accounts a
      WHERE a.account_id = m.account_id AND a.mode = m.mode AND a.ledger = 'available' OFFSET 0) l
    WHERE credit = 'available' AND l.owed > m.running - m.amount
  ), entries AS (
    SELECT e.*, row_number() OVER w AS nth, (sum(e.amount) OVER w)::bigint AS running FROM (
      SELECT t.account_id, t.mode, t.id, t.booked_at, t.kind, s.ledger, s.side * t.amount AS amount
      FROM transfers t CROSS JOIN LATERAL (VALUES (t.debited, -1), (t.credited, 1)) AS s (ledger, side)) e
    WINDOW w AS (PARTITION BY e.account_id, e.mode, e.ledger ORDER BY e.kind = 'owed_repaid', e.id
      ROWS UNBOUNDED PRECEDING)
  ), changes AS (
    SELECT e.account_id, e.mode, s.ledger, COALESCE(sum(e.amount) FILTER (WHERE e.ledger = s.ledger), 0)::bigint AS change,
      count(*) FILTER (WHERE e.ledger = s.ledger) AS entries,
      COALESCE(sum(e.amount) FILTER (WHERE s.ledger = 'available' AND e.ledger = 'owed'), 0)::bigint AS owed_change
    FROM entries e CROSS JOIN LATERAL (
      SELECT e.ledger UNION SELECT 'available' WHERE e.ledger = 'owed') AS s (ledger)
    GROUP BY e.account_id, e.mode, s.ledger
  ), transferred AS (
    INSERT INTO public.ledger_transfers
      (account_id, kind, subject_id, mode, debit, credit, amount, connection_id, created_at)
    SELECT t.account_id, t.kind, t.id, t.mode, t.debited, t.credited, t.amount, t.connection_id, t.booked_at
    FROM transfers t
  ), moved AS (
    UPDATE public.ledger_accounts l
    SET balance = l.balance + c.change, version = l.version + c.entries, owed = l.owed - c.owed_change
    FROM changes c WHERE l.account_id = c.account_id AND l.mode = c.mode AND l.ledger = c.ledger
      AND l.account_id = ANY (ARRAY(SELECT b.account_id FROM unnest(bookings) b))
    RETURNING l.account_id, l.mode, l.ledger, l.balance - c.change AS balance_before, l.version - c.entries AS version_before
  ), entered AS (
    INSERT INTO public.ledger_entries
      (account_id, mode, ledger, version, kind, subject_id, amount, balance_after, created_at)
    SELECT e.account_id, e.mode, e.ledger, l.version_before + e.nth, e.kind, e.id, e.amount,
      l.balance_before + e.running, e.booked_at
    FROM entries e JOIN moved l ON l.account_id = e.account_id AND l.mode = e.mode AND l.ledger = e.ledger
    RETURNING kind
  )
  SELECT count(*) - 2 * (SELECT count(*) FROM transfers t WHERE t.kind = 'owed_repaid') INTO written FROM entered;
  RETURN written;
END $$;
