-- A trusted extension: whoever owns the database may create it, on managed servers too.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The list reads state, amount and time from the index alone, so that a filter which leaves little,
-- or a total, touches no rows. It takes the place of the one without them: a create writes no more.
CREATE INDEX charges_list_idx ON charges (account_id, mode, id) INCLUDE (status, amount, created_at)
  WHERE status <> 'opening';
DROP INDEX charges_account_id_mode_id_idx;

-- Letters without case and marks: "joao" finds "João". Marks go first, since a database in the C
-- locale knows the case of ASCII letters only.
CREATE FUNCTION troco_fold(words text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT lower(CASE WHEN octet_length(words) = char_length(words) THEN words
    ELSE regexp_replace(normalize(words, NFKD), '[\u0300-\u036f]+', '', 'g') END)
$$;

-- What charges are searched by, written by the worker a moment after them: a trigram index on the
-- charges themselves would make creating one a third slower in the database.
CREATE TABLE charge_searches (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  words text NOT NULL,
  doc text NOT NULL,
  CONSTRAINT charge_searches_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT charge_searches_mode_known CHECK (mode IN ('test', 'live'))
);
INSERT INTO charge_searches (account_id, id, mode, words, doc)
SELECT account_id, id, mode, troco_fold(client_name || E'\n' || client_email),
  upper(translate(client_doc, './ -', ''))
FROM charges;

CREATE INDEX charge_searches_account_id_mode_doc_id_idx
  ON charge_searches (account_id, mode, doc, id);
-- Partial only in name: Prisma's schema cannot say it. What waits to be sorted in stays short.
CREATE INDEX charge_searches_words_idx ON charge_searches USING gin (words gin_trgm_ops)
  WITH (gin_pending_list_limit = 512) WHERE mode IN ('test', 'live');

-- Up to where the worker has written them.
CREATE TABLE charge_search_marks (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  id uuid NOT NULL,
  CONSTRAINT charge_search_marks_pkey PRIMARY KEY (account_id, mode),
  CONSTRAINT charge_search_marks_mode_known CHECK (mode IN ('test', 'live'))
);

-- What was being written during this is not behind the mark, whatever its clock said.
INSERT INTO charge_search_marks (account_id, mode, id)
SELECT account_id, mode, max(id::text)::uuid FROM charges
WHERE created_at < now() - interval '1 hour' GROUP BY account_id, mode;
