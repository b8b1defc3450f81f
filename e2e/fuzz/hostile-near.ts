import { words } from '#e2e/fuzz/hostile-values.ts'

const UUID = '0190e5c8-7b9a-7c3e-8d1f-123456789abc'

/** Almost valid values by field, which reach the database if validation has a gap. */
export const NEAR = new Map<string, readonly string[]>([
  ['client_email', texts('a@b A@B.CO a@b..co ção@exemplo.com.br "a b"@c.co', 'a@b.co\n')],
  [
    'client_doc',
    texts('111.111.111-11 5299822472 529982247255 00.000.000/0000-00 ٥٢٩٩٨٢٢٤٧٢٥', '52998224725 '),
  ],
  ['client_phone', texts('+ 0 tel:+55', '+55 (11) 9 8765-4321 ramal 0123456789')],
  [
    'webhook_url',
    [
      ...texts('ftp://a.b javascript:alert(1) http:// http://[::1 //a.b http:a http://a:99999'),
      ...texts('HTTP://USER:PASS@A.B http://%00 http://ç.example http://169.254.169.254/'),
      ...texts(
        'http://0x7f.1/',
        'http://a b',
        'http://a.b/\u0001',
        `http://a.b/${'x'.repeat(2_040)}`,
      ),
    ],
  ],
  ['ip', texts('1.2.3 1.2.3.4/8 01.2.3.4 ::ffff:1.2.3.4 ::1%eth0 256.1.1.1 ::', '1.2.3.4 ')],
  [
    'external_id',
    [
      ...texts(`${UUID} ${UUID.toUpperCase()} a/b .. %2f ${'é'.repeat(255)} ${'🦊'.repeat(127)}`),
      ...texts(`${'🦊'.repeat(128)} ${'x'.repeat(256)}`, ' ', '\u00a0', '\u200d', 'a\u0301'),
    ],
  ],
  [
    'pix_key',
    [
      ...texts(`a@b.c +5511 11111111111 ${UUID.replaceAll('-', '')} ٥٥١١٩٨٧٦٥ 55119876543210`),
      ...texts(`12.ABC.345/01DE-35 - . @ ${'x'.repeat(77)} ${'x'.repeat(78)}`, 'A@B.CO ', ' '),
    ],
  ],
  ['pix_key_type', texts('CPF evp toString', 'email ')],
  ['outcome', texts('Paid pending refunded __proto__')],
  ['reason', texts('', ' ', 'x'.repeat(255), 'x'.repeat(256))],
  ['metadata', ['{"a":[[[[]]]]}', '{"__proto__":1,"constructor":2,"a":-0,"b":1e-7}', '[1]']],
  ['utms', ['{"__proto__":{"x":[]},"hasOwnProperty":null}', '{"utm_source":"\\u2028"}']],
  [
    'items',
    [
      ...words('[null] [[]] [{"name":1}] [{"price":"1,5","quantity":"1e400"}] [{"name":null}]'),
      ...words(
        '{"0":{},"length":1} [{"__proto__":{"name":1}}] [{"price":{}}] [{"quantity":"0x1"}]',
      ),
    ],
  ],
])

/** JSON of the words in a list, and of other texts that contain spaces. */
function texts(list: string, ...others: string[]): string[] {
  return [...words(list), ...others].map(text => JSON.stringify(text))
}
