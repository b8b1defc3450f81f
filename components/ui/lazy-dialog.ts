import dynamic from 'next/dynamic'
import type { ComponentType } from 'react'

type PropsOf<Dialog> = Dialog extends ComponentType<infer Props> ? Props : never

/** Loads a file of dialogs when the dialog with this name is first shown. */
export function lazyDialog<Name extends string, Dialogs extends Record<Name, ComponentType<never>>>(
  load: () => Promise<Dialogs>,
  name: Name,
) {
  return dynamic(async () => (await load())[name] as ComponentType<PropsOf<Dialogs[Name]>>)
}

const loadDialog = () => import('#components/ui/dialog.tsx')
/** For dialogs that stand in the file of their page. */
export const LazyDialog = lazyDialog(loadDialog, 'Dialog')
export const LazyDialogActions = lazyDialog(loadDialog, 'DialogActions')
