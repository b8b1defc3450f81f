'use client'

import { useEffect, useState } from 'react'

/** Returns whether passkeys work; null until known. On an IP address they do not exist. */
export function useCanPasskeys(): boolean | null {
  const [can, setCan] = useState<boolean | null>(null)
  useEffect(() => {
    const isAddress = /^[\d.]+$|^\[/.test(location.hostname)
    setCan(typeof PublicKeyCredential === 'function' && !isAddress)
  }, [])
  return can
}
