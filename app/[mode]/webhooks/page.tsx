import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { DeliveriesView, type DeliveriesViewProps } from '#app/[mode]/webhooks/deliveries-view.tsx'

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('webhooks'))('title') }
}

export default function WebhooksPage(props: DeliveriesViewProps) {
  return <DeliveriesView {...props} />
}
