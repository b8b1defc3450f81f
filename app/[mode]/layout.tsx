import type { ReactNode } from 'react'
import { PaletteHost } from '#app/[mode]/palette/palette-host.tsx'
import { ClientWords } from '#components/format/client-words.tsx'
import { AccountNotice } from '#components/nav/account-notice.tsx'
import { Connection } from '#components/nav/connection.tsx'
import { Frame } from '#components/nav/frame.tsx'
import { WorldOf } from '#components/nav/world.tsx'
import { requireMode, requireUser } from '#lib/edge/session/gate.ts'
import { chooseAccount } from '#lib/edge/session/preferences.ts'

interface ModeLayoutProps {
  params: Promise<{ mode: string }>
  children: ReactNode
}

export default async function ModeLayout({ params, children }: ModeLayoutProps) {
  const mode = requireMode((await params).mode)
  const user = await requireUser()
  const account = await chooseAccount(user)
  const frame = (
    <Frame user={user} account={account} mode={mode}>
      {account && account.status !== 'active' ? <AccountNotice account={account} /> : null}
      {children}
    </Frame>
  )
  return (
    <ClientWords>
      <WorldOf
        key={account?.id}
        mode={mode}
        account={account && { id: account.id, role: account.role, status: account.status }}
      >
        {frame}
        <Connection />
        {account ? <PaletteHost /> : null}
      </WorldOf>
    </ClientWords>
  )
}
