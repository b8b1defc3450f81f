-- Why something failed, as a code with parameters; the sentence beside it is English for programs.
-- Nullable, because an older process that still runs writes the sentence alone.
--
-- Locks: ACCESS EXCLUSIVE on five tables, held for milliseconds once granted; the migrator waits two
-- seconds for them and tries again. No row is read or rewritten: the columns have no default, and the
-- CHECKs are validated by the next migration.
ALTER TABLE delivery_attempts
  ADD COLUMN problem_code text,
  ADD COLUMN problem_params json,
  ADD CONSTRAINT delivery_attempts_problem_code_known CHECK (problem_code IN (
    'status', 'redirect', 'refused', 'closed', 'unreachable', 'connect_timeout', 'timeout',
    'header_too_large', 'not_http', 'no_answer', 'other_protocol', 'certificate_name',
    'certificate_expired', 'certificate_untrusted', 'tls', 'interrupted', 'not_called', 'not_a_url',
    'not_web', 'https_required', 'credentials', 'port_low', 'port_internal', 'leads_back',
    'name_unknown', 'name_denied', 'address_denied', 'other')) NOT VALID,
  ADD CONSTRAINT delivery_attempts_problem_code_complete CHECK (
    (problem_code IS NULL) = (problem_params IS NULL)
    AND (problem_code IS NULL OR problem IS NOT NULL)) NOT VALID;

ALTER TABLE withdrawals
  ADD COLUMN rejection_code text,
  ADD COLUMN rejection_params json,
  ADD CONSTRAINT withdrawals_rejection_code_known
    CHECK (rejection_code IN ('key_refused', 'simulated', 'unspecified', 'other')) NOT VALID,
  ADD CONSTRAINT withdrawals_rejection_code_complete CHECK (
    (rejection_code IS NULL) = (rejection_params IS NULL)
    AND (rejection_code IS NULL OR rejection_reason IS NOT NULL)) NOT VALID;

ALTER TABLE refunds
  ADD COLUMN rejection_code text,
  ADD COLUMN rejection_params json,
  ADD CONSTRAINT refunds_rejection_code_known
    CHECK (rejection_code IN ('key_refused', 'simulated', 'unspecified', 'other')) NOT VALID,
  ADD CONSTRAINT refunds_rejection_code_complete CHECK (
    (rejection_code IS NULL) = (rejection_params IS NULL)
    AND (rejection_code IS NULL OR rejection_reason IS NOT NULL)) NOT VALID;

-- What the simulated bank refuses with; words without a code are those of whoever decided.
ALTER TABLE simulator_orders
  ADD COLUMN reason_code text,
  ADD CONSTRAINT simulator_orders_reason_code_known
    CHECK (reason_code IN ('key_refused', 'simulated', 'unspecified')) NOT VALID;

ALTER TABLE webhook_endpoints
  ADD COLUMN disabled_code text,
  ADD CONSTRAINT webhook_endpoints_disabled_code_known
    CHECK (disabled_code IN ('by_member', 'gone', 'given_up', 'other')) NOT VALID;
