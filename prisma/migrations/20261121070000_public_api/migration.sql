-- A statement that names its account by a token's hash ends here when that token is no longer what it
-- was a moment ago. It raises, because no row at all could also mean that there is nothing to tell.
CREATE FUNCTION troco_refuse_caller() RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the caller is no longer who was remembered' USING ERRCODE = 'TR401';
END $$;

-- Lists of one state. A new charge is pending, so that creating one does not pay for this.
CREATE INDEX charges_closed_idx ON charges (account_id, mode, status, id)
  WHERE status IN ('paid', 'expired', 'failed');

-- An answer that is kept belongs to work that is over.
ALTER TABLE idempotency_keys
  ADD CONSTRAINT idempotency_keys_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT idempotency_keys_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
  ADD CONSTRAINT idempotency_keys_answer_complete
    CHECK (answer IS NULL OR (status IS NOT NULL AND locked_until IS NULL));
