-- Locks: SHARE UPDATE EXCLUSIVE on events; reads and writes go on while the rows are read.
ALTER TABLE events VALIDATE CONSTRAINT events_type_known;
