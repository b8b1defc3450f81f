import { Secret, TOTP } from 'otpauth'

/** Returns the app's code for this secret, some 30-second periods from now. */
export function generateTotp(secret: string, periods = 0): string {
  const app = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) })
  return app.generate({ timestamp: Date.now() + periods * 30_000 })
}
