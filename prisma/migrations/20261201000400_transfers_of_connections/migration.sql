-- For listOwnRows and readBooks in lib/rooms/reconciliation: what moved through a bank in a time.
CREATE INDEX CONCURRENTLY ledger_transfers_connection_idx
  ON ledger_transfers (connection_id, created_at) INCLUDE (debit, credit, amount)
  WHERE mode = 'live' AND connection_id IS NOT NULL;
