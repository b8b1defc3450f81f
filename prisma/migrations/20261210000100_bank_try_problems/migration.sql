-- Problems of tries as codes with parameters, which pages translate; `problem` had English text.
--
-- Locks: ACCESS EXCLUSIVE on bank_tries, which only operators and one job use, for milliseconds.
ALTER TABLE bank_tries ADD COLUMN problems json;
UPDATE bank_tries SET problem = NULL, problems = json_build_array(json_build_object(
    'code', 'other', 'params', json_build_object('text', problem)))
  WHERE problem IS NOT NULL;
