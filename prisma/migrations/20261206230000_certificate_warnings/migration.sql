-- Which warning of the end of a client certificate staff was mailed last, so that each is mailed once. A
-- renewed certificate ends at another time, and is warned of anew.
--
-- Locks: ACCESS EXCLUSIVE on connections, for milliseconds.
ALTER TABLE connections
  ADD COLUMN certificate_warned_until timestamptz(3),
  ADD COLUMN certificate_warned_days integer,
  ADD CONSTRAINT connections_certificate_warned
    CHECK ((certificate_warned_until IS NULL) = (certificate_warned_days IS NULL));
