-- Finds a logged request by its id. An account has at most about 10,000.
--
-- Locks: SHARE on request_log while the index is built: requests are stored afterwards. No request waits.
CREATE INDEX request_log_request_id_idx ON request_log (request_id);
