-- An endpoint that a program disabled with a token. NOT VALID: the next migration reads the rows without blocking writers.
ALTER TABLE webhook_endpoints
  DROP CONSTRAINT webhook_endpoints_disabled_code_known,
  ADD CONSTRAINT webhook_endpoints_disabled_code_known
    CHECK (disabled_code IN ('by_member', 'by_token', 'gone', 'given_up', 'other')) NOT VALID;
