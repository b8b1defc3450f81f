'use client'

import { useEffect, useState } from 'react'

/** Whether passkeys work here (they require a host name, not an IP); null until known. */
export function usePasskeySupport(): boolean | null {
  const [isSupported, setSupported] = useState<boolean | null>(null)
  useEffect(() => {
    const isAddress = /^[\d.]+$|^\[/.test(location.hostname)
    setSupported(typeof PublicKeyCredential === 'function' && !isAddress)
  }, [])
  return isSupported
}
