-- Locks: SHARE UPDATE EXCLUSIVE on user_sessions; sign-ins and requests go on.
ALTER TABLE user_sessions VALIDATE CONSTRAINT user_sessions_viewing_complete;
