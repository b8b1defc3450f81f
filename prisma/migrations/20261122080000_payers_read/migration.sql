-- Who receives payers' documents in full: docs/decisions/023.
--
-- charges.webhook_masked: the charge's creator may not read documents, so its webhook_url receives them
-- masked. Existing charges keep sending full documents.
--
-- webhook_endpoints.full_documents: existing endpoints receive full documents. The default for new
-- rows is then false, so that a statement that does not set the column sends no document.
--
-- Locks: ACCESS EXCLUSIVE on both tables for milliseconds each; constant defaults rewrite no row.
ALTER TABLE charges ADD COLUMN webhook_masked boolean NOT NULL DEFAULT false;

ALTER TABLE webhook_endpoints ADD COLUMN full_documents boolean NOT NULL DEFAULT true;
ALTER TABLE webhook_endpoints ALTER COLUMN full_documents SET DEFAULT false;
