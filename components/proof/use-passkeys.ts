'use client'

import { useEffect, useState } from 'react'

/**
 * Returns whether passkeys work here; null until known. Passkeys require a host name, not an IP.
 */
export function usePasskeySupport(): boolean | null {
  const [isSupported, setSupported] = useState<boolean | null>(null)
  useEffect(() => {
    const isAddress = /^[\d.]+$|^\[/.test(location.hostname)
    setSupported(typeof PublicKeyCredential === 'function' && !isAddress)
  }, [])
  return isSupported
}
