-- The roles check whether a client is still there: lib/base/db/role-settings.ts. Servers of earlier versions leave the
-- roles of a newer schema alone; without a migration they would take the check back, or refuse to start with MIGRATE=false.
COMMENT ON TABLE process_clocks IS 'A process, and how far its clock is from that of the database.';
