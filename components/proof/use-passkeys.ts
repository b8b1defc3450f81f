'use client'

import { useEffect, useState } from 'react'

/** Whether passkeys work here; null until the browser was asked. An IP address has none. */
export function useCanPasskeys(): boolean | null {
  const [can, setCan] = useState<boolean | null>(null)
  useEffect(() => {
    const isAddress = /^[\d.]+$|^\[/.test(location.hostname)
    setCan(typeof PublicKeyCredential === 'function' && !isAddress)
  }, [])
  return can
}
