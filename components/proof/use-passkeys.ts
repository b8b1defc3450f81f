'use client'

import { useEffect, useState } from 'react'

/** Returns whether passkeys work; null until known. On an IP address they do not exist. */
export function usePasskeySupport(): boolean | null {
  const [isSupported, setSupported] = useState<boolean | null>(null)
  useEffect(() => {
    const isAddress = /^[\d.]+$|^\[/.test(location.hostname)
    setSupported(typeof PublicKeyCredential === 'function' && !isAddress)
  }, [])
  return isSupported
}
