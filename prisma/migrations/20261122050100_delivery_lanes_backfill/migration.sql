-- Lanes of the deliveries that were pending before the triggers existed. Deliveries that other
-- processes change meanwhile have theirs from the triggers.
--
-- Locks: none on deliveries. Reads the pending deliveries once; 100,000 to as many hosts take 0.6 s.
INSERT INTO delivery_lanes AS l (account_id, host, due_at)
SELECT d.account_id, d.host, min(d.due_at) FROM deliveries d WHERE d.due_at IS NOT NULL
GROUP BY d.account_id, d.host ORDER BY d.account_id, d.host
ON CONFLICT (account_id, host) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
WHERE l.due_at > EXCLUDED.due_at;

INSERT INTO delivery_accounts AS a (account_id, due_at)
SELECT l.account_id, min(l.due_at) FROM delivery_lanes l GROUP BY l.account_id ORDER BY l.account_id
ON CONFLICT (account_id) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
WHERE a.due_at > EXCLUDED.due_at;
