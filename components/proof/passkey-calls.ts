import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'

/** WebAuthn options, with the challenge secret to send back. */
export interface PasskeyChallenge<Options> {
  challenge: string
  options: Options
}

/** Asks the browser for a passkey. Returns null if the user cancels or the request times out. */
export async function requestPasskey({
  challenge,
  options,
}: PasskeyChallenge<PublicKeyCredentialRequestOptionsJSON>) {
  const passkey = await nullIfDismissed(() => startAuthentication({ optionsJSON: options }))
  return passkey && { challenge, passkey }
}

export async function registerPasskey({
  challenge,
  options,
}: PasskeyChallenge<PublicKeyCredentialCreationOptionsJSON>) {
  const passkey = await nullIfDismissed(() => startRegistration({ optionsJSON: options }))
  return passkey && { challenge, passkey }
}

async function nullIfDismissed<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'NotAllowedError' || name === 'AbortError') return null
    throw error
  }
}
