-- The defence in a dispute (docs/decisions/047). `pending`: sent, or about to be; the bank has not confirmed it.
ALTER TABLE disputes ADD COLUMN answer text, ADD COLUMN answer_state text, ADD COLUMN answered_by uuid,
  ADD COLUMN answered_at timestamptz(6),
  ADD CONSTRAINT disputes_answer_state_known
    CHECK (answer_state IN ('pending', 'taken', 'late', 'refused', 'unsent')),
  ADD CONSTRAINT disputes_answer_complete CHECK (
    (answer IS NULL) = (answered_at IS NULL) AND (answer IS NULL) = (answered_by IS NULL)
    AND (answer IS NULL OR answer_state IS NOT NULL AND char_length(answer) BETWEEN 1 AND 2000)
    AND (answer IS NOT NULL OR answer_state IS NULL OR answer_state = 'taken'));
