import { ACCOUNT_ROUTES } from './account.ts'
import { CHARGE_ROUTES } from './charges.ts'
import { DISPUTE_ROUTES } from './disputes.ts'
import { LOCATION_ROUTES } from './locations.ts'
import { PAYOUT_ROUTES } from './payouts.ts'
import { PAYMENT_ROUTES } from './received.ts'
import { REFUND_ROUTES } from './refunds.ts'
import { REPORT_ROUTES } from './reports.ts'
import type { Route } from './route.ts'
import type { Kind } from './settings.ts'
import { WEBHOOK_ROUTES } from './webhooks.ts'

const ROUTES: Route[] = [
  ...CHARGE_ROUTES,
  ...PAYMENT_ROUTES,
  ...REFUND_ROUTES,
  ...WEBHOOK_ROUTES,
  ...LOCATION_ROUTES,
  ...PAYOUT_ROUTES,
  ...ACCOUNT_ROUTES,
  ...DISPUTE_ROUTES,
  ...REPORT_ROUTES,
]

/** Finds the route of a request and the parameters of its path. */
export function matchRoute(kind: Kind, method: string, path: string) {
  for (const route of ROUTES) {
    if (route.method !== method || (route.kind ?? kind) !== kind) continue
    const params = matchPath(route.path, path)
    if (params) return { route, params }
  }
  return null
}

function matchPath(template: string, path: string): Record<string, string> | null {
  const [names, values] = [template.split('/'), path.split('/')]
  if (names.length !== values.length) return null
  const params: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const value = decodeURIComponent(values[index] ?? '')
    if (name.startsWith(':')) params[name.slice(1)] = value
    else if (name !== value) return null
  }
  return params
}
