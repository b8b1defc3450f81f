ALTER TABLE inbox_items VALIDATE CONSTRAINT inbox_items_kind_known;
