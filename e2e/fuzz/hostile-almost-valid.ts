import { splitWords } from '#e2e/fuzz/hostile-values.ts'

const UUID = '0190e5c8-7b9a-7c3e-8d1f-123456789abc'

/** Almost valid JSON values by field; with a gap in validation, they reach the database. */
export const ALMOST_VALID = new Map<string, readonly string[]>([
  ['client_email', jsonTexts('a@b A@B.CO a@b..co ção@exemplo.com.br "a b"@c.co', 'a@b.co\n')],
  [
    'client_doc',
    jsonTexts(
      '111.111.111-11 5299822472 529982247255 00.000.000/0000-00 ٥٢٩٩٨٢٢٤٧٢٥',
      '52998224725 ',
    ),
  ],
  ['client_phone', jsonTexts('+ 0 tel:+55', '+55 (11) 9 8765-4321 ramal 0123456789')],
  [
    'webhook_url',
    [
      ...jsonTexts('ftp://a.b javascript:alert(1) http:// http://[::1 //a.b http:a http://a:99999'),
      ...jsonTexts('HTTP://USER:PASS@A.B http://%00 http://ç.example http://169.254.169.254/'),
      ...jsonTexts(
        'http://0x7f.1/',
        'http://a b',
        'http://a.b/\u0001',
        `http://a.b/${'x'.repeat(2_040)}`,
      ),
    ],
  ],
  ['ip', jsonTexts('1.2.3 1.2.3.4/8 01.2.3.4 ::ffff:1.2.3.4 ::1%eth0 256.1.1.1 ::', '1.2.3.4 ')],
  [
    'external_id',
    [
      ...jsonTexts(
        `${UUID} ${UUID.toUpperCase()} a/b .. %2f ${'é'.repeat(255)} ${'🦊'.repeat(127)}`,
      ),
      ...jsonTexts(`${'🦊'.repeat(128)} ${'x'.repeat(256)}`, ' ', '\u00a0', '\u200d', 'a\u0301'),
    ],
  ],
  [
    'pix_key',
    [
      ...jsonTexts(`a@b.c +5511 11111111111 ${UUID.replaceAll('-', '')} ٥٥١١٩٨٧٦٥ 55119876543210`),
      ...jsonTexts(`12.ABC.345/01DE-35 - . @ ${'x'.repeat(77)} ${'x'.repeat(78)}`, 'A@B.CO ', ' '),
    ],
  ],
  ['pix_key_type', jsonTexts('CPF evp toString', 'email ')],
  ['outcome', jsonTexts('Paid pending refunded __proto__')],
  ['reason', jsonTexts('', ' ', 'x'.repeat(255), 'x'.repeat(256))],
  ['metadata', ['{"a":[[[[]]]]}', '{"__proto__":1,"constructor":2,"a":-0,"b":1e-7}', '[1]']],
  ['utms', ['{"__proto__":{"x":[]},"hasOwnProperty":null}', '{"utm_source":"\\u2028"}']],
  [
    'items',
    [
      ...splitWords(
        '[null] [[]] [{"name":1}] [{"price":"1,5","quantity":"1e400"}] [{"name":null}]',
      ),
      ...splitWords(
        '{"0":{},"length":1} [{"__proto__":{"name":1}}] [{"price":{}}] [{"quantity":"0x1"}]',
      ),
    ],
  ],
])

/** Returns the words of a list, and further texts that contain spaces, as JSON. */
function jsonTexts(words: string, ...textsWithSpaces: string[]): string[] {
  return [...splitWords(words), ...textsWithSpaces].map(text => JSON.stringify(text))
}
