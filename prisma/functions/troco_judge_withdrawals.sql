-- version 2
-- Decides about requests for withdrawals of one account, mode and connection, in their order, each as if those before it had
-- been made or refused already. Returns for each the refusal, or null, and the sum of the day with it, in cents, if the
-- account has a rule or a limit about it. Locks the books until the commit, as troco_book does, and is VOLATILE, so that the
-- statements after the lock see what its earlier holders have committed. `at` is the time of all requests, `first_id` a lower
-- bound of the ids of its day, and `unproven` the requests whose caller may no longer send them. Limits are of live mode.
-- Called by lib/withdrawals/create.ts, in the statement that makes the withdrawals. The settings pin the plans, as in
-- troco_book: each key and reference is looked up by its index, instead of reading all that the account has stored. Only that
-- of references gives their order, which with = would follow from the condition: else, if the statistics expect less than one
-- withdrawal of an account and mode, every index that begins with these looks as good.
CREATE OR REPLACE FUNCTION troco_judge_withdrawals(
  of_account uuid, in_mode text, through uuid, at timestamptz, zone text, first_id uuid, requests json, unproven uuid[]
) RETURNS TABLE (request_id uuid, refusal json, day_sum bigint) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  is_live boolean := in_mode = 'live';
  facts record;
  request record;
BEGIN
  PERFORM pg_advisory_xact_lock(troco_books_key(of_account, in_mode));
  -- Until the commit, no other account can use up the limit of the same connection.
  PERFORM FROM connections n WHERE is_live AND n.id = through AND n.payout_day_max IS NOT NULL FOR NO KEY UPDATE;

  SELECT l.balance, a.withdrawal_max, a.night_max, a.day_max, n.payout_max, n.payout_day_max, t.night_ends, t.day_ends,
    CASE WHEN a.approval_day_above IS NOT NULL OR is_live AND a.day_max IS NOT NULL THEN (
      SELECT COALESCE(sum(w.amount), 0)::bigint FROM withdrawals w
      WHERE w.account_id = of_account AND w.id >= first_id AND w.mode = in_mode AND w.status <> 'rejected'
        AND w.created_at >= t.day_began AND w.created_at < t.day_ends) END AS day_sum,
    CASE WHEN is_live AND a.night_max IS NOT NULL AND t.night_began IS NOT NULL THEN (
      SELECT COALESCE(sum(w.amount), 0)::bigint FROM withdrawals w
      WHERE w.account_id = of_account AND w.id >= first_id AND w.mode = in_mode AND w.status <> 'rejected'
        AND w.created_at >= t.night_began AND w.created_at < t.night_ends) END AS night_sum,
    CASE WHEN n.payout_day_max IS NOT NULL THEN (
      SELECT COALESCE(sum(w.amount), 0)::bigint FROM withdrawals w
      WHERE w.connection_id = through AND w.mode = 'live' AND w.status <> 'rejected'
        AND w.created_at >= t.day_began AND w.created_at < t.day_ends) END AS connection_sum,
    ARRAY(SELECT r.external_id FROM json_to_recordset(requests) AS r (external_id text) CROSS JOIN LATERAL (
      SELECT FROM withdrawals w WHERE w.account_id = of_account AND w.mode = in_mode
        AND w.external_id >= r.external_id AND w.external_id <= r.external_id
      ORDER BY w.external_id LIMIT 1) w) AS used_references,
    ARRAY(SELECT r.path || ' ' || r.key FROM json_to_recordset(requests) AS r (path text, key text) CROSS JOIN LATERAL (
      SELECT FROM idempotency_keys k WHERE k.account_id = of_account AND k.mode = in_mode AND k.path = r.path AND k.key = r.key
      OFFSET 0) k) AS used_keys
  INTO STRICT facts
  FROM accounts a
  JOIN ledger_accounts l ON l.account_id = a.id AND l.mode = in_mode AND l.ledger = 'available'
  LEFT JOIN connections n ON is_live AND n.id = through
  CROSS JOIN LATERAL (
    SELECT h.here::date::timestamp AT TIME ZONE zone AS day_began, (h.here::date + 1)::timestamp AT TIME ZONE zone AS day_ends,
      (h.evening + time '20:00') AT TIME ZONE zone AS night_began, (h.evening + 1 + time '06:00') AT TIME ZONE zone AS night_ends
    FROM (SELECT at AT TIME ZONE zone AS here, CASE WHEN (at AT TIME ZONE zone)::time >= '20:00' THEN (at AT TIME ZONE zone)::date
      WHEN (at AT TIME ZONE zone)::time < '06:00' THEN (at AT TIME ZONE zone)::date - 1 END AS evening) h) t
  WHERE a.id = of_account;

  FOR request IN SELECT * FROM json_to_recordset(requests) AS r (id uuid, amount bigint, external_id text, path text, key text,
    is_resumed boolean) LOOP
    request_id := request.id;
    day_sum := facts.day_sum + request.amount;
    refusal := CASE
      WHEN request.id = ANY (unproven) THEN '{"code": "caller_changed"}'
      WHEN request.external_id = ANY (facts.used_references) THEN '{"code": "external_id_used"}'
      -- A request that finishes what an earlier process began has stored its key then.
      WHEN request.is_resumed IS NOT TRUE AND request.path || ' ' || request.key = ANY (facts.used_keys) THEN '{"code": "idempotency_key_used"}'
      WHEN request.amount > facts.balance THEN '{"code": "insufficient_balance"}' END;
    IF refusal IS NULL AND is_live THEN
      -- Of the limits that it exceeds, the one that frees last. A night frees even for an amount above its limit: by day.
      SELECT json_build_object('code', 'limit_exceeded', 'name', e.name, 'amount', e.shown, 'frees_at', e.frees_at) INTO refusal
      FROM (
        SELECT x.nth, x.name, CASE WHEN x.name <> 'connection_day' THEN x.most END AS shown,
          CASE WHEN x.name = 'account_night' OR request.amount <= x.most THEN x.ends END AS frees_at
        FROM (VALUES
          (1, 'account_withdrawal', facts.withdrawal_max, 0, NULL),
          (2, 'connection_withdrawal', facts.payout_max, 0, NULL),
          (3, 'account_night', facts.night_max, facts.night_sum, facts.night_ends),
          (4, 'account_day', facts.day_max, facts.day_sum, facts.day_ends),
          (5, 'connection_day', facts.payout_day_max, facts.connection_sum, facts.day_ends)
        ) AS x (nth, name, most, used, ends)
        WHERE x.used + request.amount > x.most) e
      ORDER BY e.frees_at DESC NULLS FIRST, e.nth LIMIT 1;
    END IF;
    IF refusal IS NULL THEN
      facts.balance := facts.balance - request.amount;
      facts.day_sum := facts.day_sum + request.amount;
      facts.night_sum := facts.night_sum + request.amount;
      facts.connection_sum := facts.connection_sum + request.amount;
      facts.used_references := facts.used_references || request.external_id;
      facts.used_keys := facts.used_keys || (request.path || ' ' || request.key);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
