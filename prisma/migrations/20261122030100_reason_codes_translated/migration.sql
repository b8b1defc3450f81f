-- Translates the sentences that were stored before there were codes; a sentence that is not one of
-- ours becomes `other`, with its text. The sentences themselves stay, byte for byte.
--
-- Locks: the updated rows until the commit, so that pruning those attempts and enabling a disabled
-- endpoint wait; reads and new rows do not. Each UPDATE is one scan of its table and rewrites rows with
-- a sentence only: 200,000 attempts took 10 s on a busy machine with two cores.

-- A sentence is its head, a value (or none) and its tail.
UPDATE delivery_attempts a SET
  problem_code = COALESCE(t.code, 'other'), problem_params = t.params
FROM (
  SELECT b.account_id, b.delivery_id, b.number, s.code, CASE
      WHEN s.code IS NULL THEN json_build_object('text', b.problem)
      WHEN s.name IS NULL THEN '{}'
      WHEN s.name IN ('status', 'port', 'seconds') THEN json_build_object(s.name, v.value::numeric)
      WHEN s.name IN ('name+range', 'address+range') THEN json_build_object(
        split_part(s.name, '+', 1), split_part(v.value, ' is ', 1),
        'range', split_part(v.value, ' is ', 2))
      ELSE json_build_object(s.name, v.value) END AS params
  FROM delivery_attempts b
  LEFT JOIN (
    VALUES
      ('status', 'The receiver answered ', 'status',
        ': a webhook is received with a status from 200 to 299'),
      ('redirect', 'The receiver redirects to another address (', 'status',
        '): give the final address'),
      ('refused', 'The receiver refuses connections: check that it runs and the port', NULL, ''),
      ('closed', 'The receiver closed the connection before it answered', NULL, ''),
      ('unreachable', 'The receiver could not be reached: check its network and firewall', NULL, ''),
      ('connect_timeout',
        'The receiver could not be reached in time: check that it runs and lets us in', NULL, ''),
      ('timeout', 'The receiver did not answer within ', 'seconds', ' s'),
      ('header_too_large', 'The head of the receiver''s answer is too large', NULL, ''),
      ('not_http', 'The receiver''s answer is not valid HTTP', NULL, ''),
      ('no_answer', 'The receiver sends much, but no answer', NULL, ''),
      ('other_protocol', 'The receiver wants another protocol than HTTP (101)', NULL, ''),
      ('certificate_name', 'The receiver''s certificate is not for ', 'name', ''),
      ('certificate_expired', 'The receiver''s certificate has expired: renew it', NULL, ''),
      ('certificate_untrusted',
        'The receiver''s certificate is not trusted: let it send the whole chain of a public one',
        NULL, ''),
      ('tls', 'The receiver does not speak TLS 1.2 or newer correctly', NULL, ''),
      ('interrupted', 'Interrupted', NULL, ''),
      ('not_called', 'The receiver could not be called', NULL, ''),
      ('not_a_url', 'The address of the webhook is not a URL', NULL, ''),
      ('not_web', 'The webhook must be an http or https address', NULL, ''),
      ('https_required', 'The webhook must be an https address in live mode', NULL, ''),
      ('credentials',
        'The webhook must not hold a user name or password: check our signature instead', NULL, ''),
      ('port_low', 'The webhook must not go to port ', 'port', ': use 443, 80 or one from 1024'),
      ('port_internal', 'The webhook must not go to port ', 'port',
        ', which belongs to another service: use 443'),
      ('leads_back',
        'The webhook leads back to this gateway: give the address of your own server', NULL, ''),
      ('name_unknown', 'The name ', 'name', ' could not be found: check its spelling and its DNS'),
      ('name_denied', 'The address of ', 'name+range', ': webhooks go to public addresses only'),
      ('address_denied', 'The address ', 'address+range', ': webhooks go to public addresses only')
  ) s (code, head, name, tail) ON CASE
    WHEN s.name IS NULL THEN b.problem = s.head
    ELSE starts_with(b.problem, s.head) AND right(b.problem, length(s.tail)) = s.tail
      AND length(b.problem) > length(s.head) + length(s.tail)
      AND substr(b.problem, length(s.head) + 1, length(b.problem) - length(s.head) - length(s.tail))
        ~ CASE
          WHEN s.name IN ('status', 'port', 'seconds') THEN '^[0-9]+(\.[0-9]+)?$'
          WHEN s.name LIKE '%+range' THEN '^[^ ]+ is [a-z-]+$'
          ELSE '^[^ ]+$' END
    END
  CROSS JOIN LATERAL (SELECT CASE WHEN s.name IS NOT NULL THEN
    substr(b.problem, length(s.head) + 1, length(b.problem) - length(s.head) - length(s.tail))
    END AS value) v
  WHERE b.problem IS NOT NULL AND b.problem_code IS NULL
) t
WHERE a.account_id = t.account_id AND a.delivery_id = t.delivery_id AND a.number = t.number;

UPDATE withdrawals SET
  rejection_code = CASE rejection_reason
    WHEN 'The receiving bank refused the key' THEN 'key_refused'
    WHEN 'Rejected at the simulated bank' THEN 'simulated'
    WHEN 'Refused' THEN 'unspecified' ELSE 'other' END,
  rejection_params = CASE WHEN rejection_reason IN ('The receiving bank refused the key',
      'Rejected at the simulated bank', 'Refused') THEN '{}'
    ELSE json_build_object('text', rejection_reason) END
WHERE rejection_reason IS NOT NULL AND rejection_code IS NULL;

UPDATE refunds SET
  rejection_code = CASE rejection_reason
    WHEN 'The receiving bank refused the key' THEN 'key_refused'
    WHEN 'Rejected at the simulated bank' THEN 'simulated'
    WHEN 'Refused' THEN 'unspecified' ELSE 'other' END,
  rejection_params = CASE WHEN rejection_reason IN ('The receiving bank refused the key',
      'Rejected at the simulated bank', 'Refused') THEN '{}'
    ELSE json_build_object('text', rejection_reason) END
WHERE rejection_reason IS NOT NULL AND rejection_code IS NULL;

UPDATE simulator_orders SET reason_code = CASE reason
    WHEN 'The receiving bank refused the key' THEN 'key_refused' ELSE 'simulated' END
WHERE reason IN ('The receiving bank refused the key', 'Rejected at the simulated bank');

UPDATE webhook_endpoints SET disabled_code = CASE disabled_reason
    WHEN 'Disabled in the dashboard' THEN 'by_member'
    WHEN 'The receiver answered 410 Gone' THEN 'gone'
    WHEN 'No success for 5 days, and 10 events given up' THEN 'given_up' ELSE 'other' END
WHERE disabled_reason IS NOT NULL;

ALTER TABLE delivery_attempts VALIDATE CONSTRAINT delivery_attempts_problem_code_known;
ALTER TABLE delivery_attempts VALIDATE CONSTRAINT delivery_attempts_problem_code_complete;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_rejection_code_known;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_rejection_code_complete;
ALTER TABLE refunds VALIDATE CONSTRAINT refunds_rejection_code_known;
ALTER TABLE refunds VALIDATE CONSTRAINT refunds_rejection_code_complete;
ALTER TABLE simulator_orders VALIDATE CONSTRAINT simulator_orders_reason_code_known;
ALTER TABLE webhook_endpoints VALIDATE CONSTRAINT webhook_endpoints_disabled_code_known;
