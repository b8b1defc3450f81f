/** Values of test payers and merchants that must never be logged. */
export const CANARY = {
  document: '52998224725',
  formattedDocument: '529.982.247-25',
  pixKey: 'canary.key@troco.example',
  password: 'canary-password-never-logged',
}
