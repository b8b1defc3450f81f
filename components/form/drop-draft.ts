// Apart from draft.ts, which only pages with forms load: every page signs out.

/** One draft per browser tab, gone with it. */
export const DRAFT_KEY = 'troco-draft'

/** Called on signing out: the next user of this tab is another one. */
export function dropDraft(): void {
  sessionStorage.removeItem(DRAFT_KEY)
}
