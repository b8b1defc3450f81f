import { lazyDialog } from '#components/ui/lazy-dialog.ts'

/** Loaded when it is first shown: most visits to a page of the staff open no dialog. */
export const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')
