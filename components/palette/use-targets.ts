'use client'

import { useRouter } from 'next/navigation'
import { useLocale } from 'next-intl'
import { useCallback, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { signOut } from '#components/form/auth-calls.ts'
import { setLocale, setTheme } from '#components/format/preferences.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import {
  ADMIN_TARGETS,
  actionTargets,
  matchesTarget,
  pageTargets,
  type Target,
} from '#components/palette/targets.ts'
import { ApiError } from '#lib/core/call-api.ts'
import { nextLocale } from '#lib/core/locale.ts'

/** Without an account, as on the operator's pages, no page of an account is offered. */
export function useTargets(text: string, isAdmin: boolean) {
  const { mode, accountId } = useApi().scope
  const hasPermission = useHasPermission()
  const isOffered = (target: Target) =>
    matchesTarget(target, text) && (!target.needs || hasPermission(target.needs))
  const places = [
    ...(accountId === null ? [] : pageTargets(mode)),
    ...(isAdmin ? ADMIN_TARGETS : []),
  ]
  const actions = actionTargets(mode).filter(({ href }) => accountId !== null || !href)
  return { places: places.filter(isOffered), actions: actions.filter(isOffered) }
}

export function useTargetActions(onClose: () => void) {
  const router = useRouter()
  const locale = useLocale()
  const api = useApi()
  const [failure, setFailure] = useState<Error | null>(null)
  const openPage = useCallback(
    (href: string) => {
      // The documentation is not a page of Next.
      if (href === '/docs') location.assign(href)
      else router.push(href)
      onClose()
    },
    [router, onClose],
  )
  async function runTarget({ href, action }: Target) {
    if (href) return openPage(href)
    if (action === 'signOut') {
      if (await signOut()) return location.assign('/login')
      return setFailure(new ApiError(0, 'network'))
    }
    if (action === 'language') {
      setLocale(nextLocale(locale), api)
      router.refresh()
    } else if (action) setTheme(action.theme, api)
    onClose()
  }
  return { openPage, runTarget, failure }
}
