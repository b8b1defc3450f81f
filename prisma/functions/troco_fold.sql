-- version 1
-- Folds text for a search that ignores case and accents: "joao" finds "João". Called by
-- lib/charges/search.ts and lib/operator/accounts.ts. Removes accents first, because lower()
-- changes only ASCII letters in the C locale.
CREATE OR REPLACE FUNCTION troco_fold(words text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT lower(CASE WHEN octet_length(words) = char_length(words) THEN words
    ELSE regexp_replace(normalize(words, NFKD), '[\u0300-\u036f]+', '', 'g') END)
$$;
