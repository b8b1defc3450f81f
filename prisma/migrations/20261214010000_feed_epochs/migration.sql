-- After a restore, a command gives each feed another epoch (lib/services/webhooks/queries.ts), so that
-- no old cursor reads new events by mistake. Without one, it is derived from the account and the mode.
ALTER TABLE event_sequences
  ADD COLUMN epoch text,
  ADD CONSTRAINT event_sequences_epoch_form CHECK (epoch IS NULL OR epoch ~ '^[0-9a-f]{16}$') NOT VALID;
ALTER TABLE event_sequences VALIDATE CONSTRAINT event_sequences_epoch_form;
