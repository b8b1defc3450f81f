import type { ReactNode } from 'react'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { ApiProvider, ConnectionNotice } from '#components/nav/api-provider.tsx'
import { Frame } from '#components/nav/frame.tsx'
import { EarlyKeys } from '#components/palette/early-keys.tsx'
import { PaletteHost } from '#components/palette/palette-host.tsx'
import { chooseAccount, requireAdmin } from '#lib/session/gate.ts'

export default async function AdminLayout({ children }: { children: ReactNode }) {
  const user = await requireAdmin()
  return (
    <ClientMessages namespaces={['viewing']}>
      <ApiProvider mode="test" userId={user.id} account={null}>
        <EarlyKeys />
        <Frame user={user} account={await chooseAccount(user)}>
          {children}
        </Frame>
        <ConnectionNotice />
        <PaletteHost isAdmin />
      </ApiProvider>
    </ClientMessages>
  )
}
