'use client'

import { type ComponentProps, useEffect, useRef, useSyncExternalStore } from 'react'
import { adoptEarlyInput } from '#components/form/control.ts'

/** Submit button of a form that scripts send: until they run, the browser would load another page. */
export function Submit({ disabled, ...rest }: ComponentProps<'button'>) {
  const button = useRef<HTMLButtonElement>(null)
  const isHydrated = useSyncExternalStore(
    () => () => {},
    () => true,
    () => false,
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: false at first only in HTML of the server
  useEffect(() => {
    const form = button.current?.form
    if (form && !isHydrated) void adoptEarlyInput(form)
  }, [])
  return <button ref={button} {...rest} type="submit" disabled={!isHydrated || disabled} />
}
