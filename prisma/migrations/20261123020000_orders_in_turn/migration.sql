-- For claimInTurn in lib/base/db/claim.ts: the oldest due order of each account, without reading others.
CREATE INDEX withdrawals_turn_idx ON withdrawals (mode, account_id, due_at, id)
  WHERE due_at IS NOT NULL;
CREATE INDEX refunds_turn_idx ON refunds (mode, account_id, due_at, id) WHERE due_at IS NOT NULL;
