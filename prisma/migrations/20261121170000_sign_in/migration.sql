-- How often somebody tried to sign in lately without success: from an address, and as a person.
CREATE TABLE sign_in_tries (
  scope text NOT NULL,
  key text NOT NULL,
  tries integer NOT NULL,
  ends_at timestamptz(6) NOT NULL,
  CONSTRAINT sign_in_tries_pkey PRIMARY KEY (scope, key),
  CONSTRAINT sign_in_tries_scope CHECK (scope IN ('address', 'person'))
);
