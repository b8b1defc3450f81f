-- Whether a process serves requests, and the machine whose clock it reads. A process of a version that stores
-- neither counts as one that serves none, on a machine of its own: because of it, no other leaves service.
--
-- Locks: ACCESS EXCLUSIVE on process_clocks for a moment; the table is not rewritten.
ALTER TABLE process_clocks
  ADD COLUMN serves boolean NOT NULL DEFAULT false,
  ADD COLUMN machine text NOT NULL DEFAULT '';
