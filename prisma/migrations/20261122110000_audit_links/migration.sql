-- Links the records of the audit log to chains, so that a removed or changed record is noticed.

-- One chain per account; that of the operator's records has the nil UUID. The row of the highest UUID
-- has as its length the sum of all others.
CREATE TABLE audit_chains (
  chain uuid PRIMARY KEY,
  length bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL DEFAULT '',
  mac bytea NOT NULL DEFAULT '',
  checked_at timestamptz(6),
  wrong text,
  checked_mac bytea,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT audit_chains_length_positive CHECK (length >= 0)
);

-- Without a foreign key to the record: a link must outlast it, so that its removal is noticed.
CREATE TABLE audit_links (
  chain uuid NOT NULL,
  position bigint NOT NULL,
  record_id uuid NOT NULL,
  salt bytea,
  digests bytea NOT NULL,
  hash bytea NOT NULL,
  mac bytea NOT NULL,
  PRIMARY KEY (chain, position)
);
CREATE UNIQUE INDEX audit_links_record_id_key ON audit_links (record_id);
CREATE TRIGGER audit_links_append_only
  BEFORE DELETE OR TRUNCATE OR UPDATE OF chain, position, record_id, digests, hash ON audit_links
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER audit_chains_kept BEFORE DELETE OR TRUNCATE ON audit_chains
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();

-- Records that the worker has yet to link.
CREATE TABLE audit_unlinked (
  record_id uuid PRIMARY KEY
);

CREATE FUNCTION troco_queue_audit_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit_unlinked (record_id) VALUES (NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER audit_log_queued AFTER INSERT ON audit_log
  FOR EACH ROW EXECUTE FUNCTION troco_queue_audit_record();

INSERT INTO audit_unlinked (record_id) SELECT id FROM audit_log;
