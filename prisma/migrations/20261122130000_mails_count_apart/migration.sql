-- sign_up_mail, invitation_mail, email_link: mails to an address that others can cause. They counted
-- as reset, so strangers could use up the password resets of the owner of the address.
ALTER TABLE sign_in_tries DROP CONSTRAINT sign_in_tries_scope;
ALTER TABLE sign_in_tries ADD CONSTRAINT sign_in_tries_scope CHECK (scope IN
  ('address', 'person', 'second_factor', 'reset', 'reset_address', 'sign_up',
   'device', 'factor', 'challenge', 'sign_in',
   'sign_up_mail', 'invitation_mail', 'email_link'));
