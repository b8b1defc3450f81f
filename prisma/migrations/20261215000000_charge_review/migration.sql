-- Amount in cents above which a member confirms a charge of the dashboard once more; null: none.
ALTER TABLE accounts
  ADD COLUMN charge_review_above bigint,
  ADD CONSTRAINT accounts_charge_review_above_range
    CHECK (charge_review_above BETWEEN 0 AND 999999999999) NOT VALID;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_charge_review_above_range;
