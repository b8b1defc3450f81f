/**
 * Hash of `password` with another cost than today's, made by the reference implementation:
 * `echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1`.
 */
export const OUTDATED_HASH =
  '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
