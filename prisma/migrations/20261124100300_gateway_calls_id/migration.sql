-- The new primary key of gateway_calls: calls about no account have none.
CREATE UNIQUE INDEX CONCURRENTLY gateway_calls_id_key ON gateway_calls (id);
