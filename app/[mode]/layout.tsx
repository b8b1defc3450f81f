import type { ReactNode } from 'react'
import { AccountNotice } from '#components/account-notice.tsx'
import { ClientWords } from '#components/client-words.tsx'
import { Connection } from '#components/connection.tsx'
import { Frame } from '#components/nav/frame.tsx'
import { PaletteHost } from '#components/palette/palette-host.tsx'
import { WorldOf } from '#components/world.tsx'
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
