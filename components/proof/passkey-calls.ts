import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'

/** WebAuthn options, with the challenge secret to send back. */
export interface Asked<Options> {
  challenge: string
  options: Options
}

/** Asks the browser for a passkey; null when the user cancels or it times out. */
export async function showPasskey({
  challenge,
  options,
}: Asked<PublicKeyCredentialRequestOptionsJSON>) {
  const passkey = await unlessDismissed(() => startAuthentication({ optionsJSON: options }))
  return passkey && { challenge, passkey }
}

export async function makePasskey({
  challenge,
  options,
}: Asked<PublicKeyCredentialCreationOptionsJSON>) {
  const passkey = await unlessDismissed(() => startRegistration({ optionsJSON: options }))
  return passkey && { challenge, passkey }
}

async function unlessDismissed<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'NotAllowedError' || name === 'AbortError') return null
    throw error
  }
}
