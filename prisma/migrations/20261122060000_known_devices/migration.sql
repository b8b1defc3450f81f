-- Marks of known devices (lib/services/people/known-device.ts) that were issued before this time
-- are no longer accepted: set when a user signs out all other devices.
ALTER TABLE users ADD COLUMN devices_ended_at timestamptz(6);

-- device: failed attempts with a mark. factor: wrong codes of a user, challenge: of one sign-in,
-- both with growing delays. sign_in: completed sign-ins of a user.
ALTER TABLE sign_in_tries DROP CONSTRAINT sign_in_tries_scope;
ALTER TABLE sign_in_tries ADD CONSTRAINT sign_in_tries_scope CHECK (scope IN
  ('address', 'person', 'second_factor', 'reset', 'reset_address', 'sign_up',
   'device', 'factor', 'challenge', 'sign_in'));
