-- What a bank reports about the payer of a charge. No CHECK: a text of a bank must never keep a payment
-- from being booked; lib/services/gateway/api-pix/party.ts cuts it and masks the document.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten.
ALTER TABLE charges
  ADD COLUMN payer_name text,
  ADD COLUMN payer_doc text,
  ADD COLUMN payer_bank text;
