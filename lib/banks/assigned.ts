/**
 * SQL for the connections that an account `a` may use in live mode: assigned, and the last check
 * passed. The foreign keys allow only connections for production that are not closed.
 */
export const receivingConnectionSql = `(SELECT n.id FROM connections n
  WHERE n.id = a.receiving_connection_id AND n.check_code = 'ok')`
export const payingConnectionSql = `(SELECT n.id FROM connections n
  WHERE n.id = a.paying_connection_id AND n.check_code = 'ok' AND n.paying_key IS NOT NULL)`
