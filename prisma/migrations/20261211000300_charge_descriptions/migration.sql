-- What a member tells the payer about a charge. The next migration validates the check.
ALTER TABLE charges
  ADD COLUMN description text,
  ADD CONSTRAINT charges_description_length
    CHECK (char_length(description) BETWEEN 1 AND 140) NOT VALID;
