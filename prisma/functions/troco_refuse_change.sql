-- version 1
-- Trigger of the append-only tables (ledger, audit log): refuses UPDATE, DELETE and TRUNCATE.
CREATE OR REPLACE FUNCTION troco_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
