import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'

/** WebAuthn options, with the challenge secret to send back. */
interface PasskeyChallenge {
  challenge: string
  /** As the library of the same makers wrote them at the server. */
  options: object
}

/** Asks the browser for a passkey. Returns null if the user cancels or the request times out. */
export async function requestPasskey({ challenge, options }: PasskeyChallenge) {
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON
  const passkey = await nullIfDismissed(() => startAuthentication({ optionsJSON }))
  return passkey && { challenge, passkey }
}

export async function registerPasskey({ challenge, options }: PasskeyChallenge) {
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON
  const passkey = await nullIfDismissed(() => startRegistration({ optionsJSON }))
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
