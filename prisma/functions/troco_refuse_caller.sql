-- version 1
-- Ends a statement of a remembered caller whose token or account has changed since. Called by
-- lib/rooms/tokens/recall.ts. It raises, because no row could also mean that nothing was found.
CREATE OR REPLACE FUNCTION troco_refuse_caller() RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the caller is no longer who was remembered' USING ERRCODE = 'TR401';
END $$;
