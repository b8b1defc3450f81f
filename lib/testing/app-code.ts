import { Secret, TOTP } from 'otpauth'

/** What an app with this secret shows now, or so many half minutes later. */
export function appCode(secret: string, periods = 0): string {
  const app = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) })
  return app.generate({ timestamp: Date.now() + periods * 30_000 })
}
