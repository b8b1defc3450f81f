-- version 1
-- Returns what is disputed of a charge and what was lost in disputes, in cents, without what the bank's returns had
-- taken before: those are counted by `returned_amount` of the charge. Neither can be refunded or
-- disputed again. VOLATILE, so that its query has a snapshot of its own: a statement that waited for the
-- lock on the charge sees a dispute that was opened meanwhile. Called by lib/charges/refunds/refund.ts,
-- lib/charges/disputes/dispute.ts, lib/dashboard/timeline.ts and lib/payer/receipt.ts.
CREATE OR REPLACE FUNCTION troco_disputed(of_account uuid, of_charge uuid, OUT disputed bigint, OUT lost bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  SELECT COALESCE(sum(d.amount - d.returned_amount) FILTER (WHERE d.status = 'open'), 0),
    COALESCE(sum(d.lost_amount - d.returned_amount), 0)
  INTO disputed, lost
  FROM disputes d WHERE d.account_id = of_account AND d.charge_id = of_charge;
END $$;
