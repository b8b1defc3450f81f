-- Finds the events of a request by its id, which begins at this place of `trace`.
CREATE INDEX CONCURRENTLY events_trace_request_idx ON events (substr(trace, 54))
  WHERE trace IS NOT NULL;
