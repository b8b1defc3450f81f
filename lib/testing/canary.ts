/** What must never be found in a log: the values that the tests' payers and merchants use. */
export const CANARY = {
  document: '52998224725',
  formattedDocument: '529.982.247-25',
  pixKey: 'canary.key@troco.example',
  password: 'canary-password-never-logged',
}
