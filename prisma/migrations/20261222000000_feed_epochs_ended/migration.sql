-- Epochs of event feeds that a restore has ended: which numbers it kept, and after which the next epoch
-- gives out its own. A reader that was further learns both (docs/decisions/064).
--
-- Locks: none, the table is new.
CREATE TABLE feed_epochs (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  epoch text NOT NULL,
  kept bigint NOT NULL,
  next bigint NOT NULL,
  ended_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (account_id, mode, next),
  CONSTRAINT feed_epochs_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT feed_epochs_epoch_form CHECK (epoch ~ '^[0-9a-f]{16}$'),
  CONSTRAINT feed_epochs_next_block CHECK (kept >= 0 AND next > kept AND next % 4294967296 = 0
    AND next <= 9007199254740991)
);
