-- version 3
-- Books one movement per booking and records an event for each. Subtracts the amount from the ledger `debit` and adds it
-- to the ledger `credit`; `external`, the world outside, is therefore negative. A null `movement` or `event_type` leaves
-- that part out. Nothing else changes a balance, or creates a transfer, entry, event or delivery. Called by
-- lib/ledger/book.ts in the statement that changes the rows: all of it or nothing. Fields of a booking: the
-- type troco_booking in the baseline. Only the application's role may execute it: lib/db/roles.ts. The settings pin the plans, which would otherwise depend on a session's statistics.
CREATE OR REPLACE FUNCTION troco_book(
  movement text, debit text, credit text, event_type text, bookings troco_booking[]
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  written integer;
BEGIN
  IF bookings IS NULL THEN RETURN 0; END IF;
  IF movement IS NOT NULL THEN
    -- 1. Lock the books, in one order for all callers, so that two calls cannot deadlock. The statements below see what
    -- earlier holders of the locks have committed.
    PERFORM pg_advisory_xact_lock(k.key) FROM (
      SELECT DISTINCT public.troco_books_key(b.account_id, b.mode) AS key FROM unnest(bookings) b ORDER BY key) k;

    -- 2. Write both sides. A CHECK on the balances refuses an overdraft, and so undoes the whole statement. If even
    -- one account owes, `moves` is empty, and nothing is written here.
    WITH owing AS MATERIALIZED (
      SELECT FROM (SELECT DISTINCT b.account_id, b.mode FROM unnest(bookings) b) b CROSS JOIN LATERAL (
        SELECT FROM public.ledger_accounts l WHERE l.account_id = b.account_id AND l.mode = b.mode
          AND l.ledger = 'available' AND l.owed > 0 OFFSET 0) l
      WHERE credit = 'available'
    ), moves AS MATERIALIZED (
      SELECT b.account_id, b.mode, b.id, b.amount, b.connection_id, row_number() OVER w AS nth,
        (sum(b.amount) OVER w)::bigint AS running, COALESCE(b.booked_at, clock_timestamp()) AS booked_at
      FROM unnest(bookings) b WHERE 'owed' NOT IN (debit, credit) AND NOT EXISTS (SELECT FROM owing)
      WINDOW w AS (PARTITION BY b.account_id, b.mode ORDER BY b.id ROWS UNBOUNDED PRECEDING)
    ), transferred AS (
      INSERT INTO public.ledger_transfers
        (account_id, kind, subject_id, mode, debit, credit, amount, connection_id, created_at)
      SELECT m.account_id, movement, m.id, m.mode, debit, credit, m.amount, m.connection_id, m.booked_at
      FROM moves m
    ), moved AS (
      UPDATE public.ledger_accounts l SET balance = l.balance + s.side * t.total, version = l.version + t.moves
      FROM (SELECT m.account_id, m.mode, sum(m.amount)::bigint AS total, count(*) AS moves FROM moves m
        GROUP BY m.account_id, m.mode) t, (VALUES (debit, -1), (credit, 1)) AS s (ledger, side)
      WHERE l.account_id = t.account_id AND l.mode = t.mode AND l.ledger = s.ledger
        -- Whatever statistics a session has seen, it reads no ledger of another account.
        AND l.account_id = ANY (ARRAY(SELECT b.account_id FROM unnest(bookings) b))
      RETURNING l.account_id, l.mode, l.ledger, s.side, l.balance - s.side * t.total AS balance_before,
        l.version - t.moves AS version_before
    )
    INSERT INTO public.ledger_entries
      (account_id, mode, ledger, version, kind, subject_id, amount, balance_after, created_at)
    SELECT l.account_id, l.mode, l.ledger, l.version_before + m.nth, movement, m.id, l.side * m.amount,
      l.balance_before + l.side * m.running, m.booked_at
    FROM moved l JOIN moves m ON m.account_id = l.account_id AND m.mode = l.mode;
    GET DIAGNOSTICS written = ROW_COUNT;

    -- 3. An account owes, or the movement itself touches `owed`: all bookings are written there.
    IF written = 0 THEN written := public.troco_book_owed(movement, debit, credit, bookings); END IF;
    IF written <> 2 * cardinality(bookings) THEN
      RAISE EXCEPTION '% of % entries of % were written', written, 2 * cardinality(bookings), movement
        USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_complete';
    END IF;
  END IF;
  IF event_type IS NOT NULL THEN PERFORM public.troco_record_events(event_type, bookings); END IF;
  RETURN cardinality(bookings);
END $$;
