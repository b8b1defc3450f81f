-- A restore gives each feed another epoch, so that no old cursor reads new events by mistake.
-- Without one, the epoch is derived from the account and the mode (lib/services/webhooks/queries.ts).
ALTER TABLE event_sequences
  ADD COLUMN epoch text,
  ADD CONSTRAINT event_sequences_epoch_form CHECK (epoch IS NULL OR epoch ~ '^[0-9a-f]{16}$') NOT VALID;
ALTER TABLE event_sequences VALIDATE CONSTRAINT event_sequences_epoch_form;
