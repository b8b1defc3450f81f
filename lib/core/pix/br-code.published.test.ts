import { getPixPayloadInfo } from '@brazilian-utils/brazilian-utils/get-pix-payload-info'
import { describe, expect, test } from 'vitest'
import { buildDynamicCode, buildStaticCode, crc16, parseBrCode } from './br-code.ts'

// id | kind | key or location | cents | merchant name | city | txid | description | postal code |
// use | recurrence location. Sources: Banco Central's manuals, API Pix 2.9.0, providers'
// documentation, tests of other libraries.
const PUBLISHED = `
G01|static|123e4567-e12b-12d1-a456-426655440000||Fulano de Tal|BRASILIA|||||
00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D
G02|dynamic|pix.example.com/8b3da2f39a4140d1a91abd93113bd441||Fulano de Tal|BRASILIA||||once|
00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630464E4
G03|static|123e4567-e12b-12d1-a456-426655440000|12345|NOME DO RECEBEDOR|BRASILIA|RP12345678-2019||70074900||
00020104141234567890123426580014BR.GOV.BCB.PIX0136123e4567-e12b-12d1-a456-42665544000027300012BR.COM.OUTRO011001234567895204000053039865406123.455802BR5917NOME DO RECEBEDOR6008BRASILIA61087007490062190515RP12345678-201980390012BR.COM.OUTRO01190123.ABCD.3456.WXYZ6304AD38
G04|dynamic|pix.example.com/8b3da2f39a4140d1a91abd93113bd441||Fulano de Tal|BRASILIA||||once|pix.example.com/rec/2353c790eefb11eaadc10242ac120002
00020101021226700014br.gov.bcb.pix2548pix.example.com/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***80740014br.gov.bcb.pix2552pix.example.com/rec/2353c790eefb11eaadc10242ac1200026304FB42
G05|unsupported
00020126180014br.gov.bcb.pix5204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***80740014br.gov.bcb.pix2552pix.example.com/rec/2353c790eefb11eaadc10242ac1200026304F2DA
G06|static|123e4567-e12b-12d1-a456-426655440000|10050|Fulano de Tal|BRASILIA|||||pix.example.com/rec/2353c790eefb11eaadc10242ac120002
00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865406100.505802BR5913Fulano de Tal6008BRASILIA62070503***80740014br.gov.bcb.pix2552pix.example.com/rec/2353c790eefb11eaadc10242ac12000263042875
G07|unsupported
00020126180014br.gov.bcb.pix5204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***80800014br.gov.bcb.pix2558pix.example.com/qr/v2/rec/2353c790eefb11eaadc10242ac120002630462C9
G08|dynamic|pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd441||Fulano de Tal|BRASILIA||||once|pix.example.com/qr/v2/rec/94ed2badcbc04c15b0bb7fa353194890
00020101021226760014br.gov.bcb.pix2554pix.example.com/qr/v2/8b3da2f39a4140d1a91abd93113bd4415204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***80800014br.gov.bcb.pix2558pix.example.com/qr/v2/rec/94ed2badcbc04c15b0bb7fa35319489063047741
G09|dynamic|pix.example.com/qr/v2/cobv/1e6c54d3ec9449b7a7fc53b6b0f998e7||Fulano de Tal|BRASILIA||||once|pix.example.com/qr/v2/rec/3ffa640fa4f14080adccb949fa2dc0d0
00020101021226810014br.gov.bcb.pix2559pix.example.com/qr/v2/cobv/1e6c54d3ec9449b7a7fc53b6b0f998e75204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***80800014br.gov.bcb.pix2558pix.example.com/qr/v2/rec/3ffa640fa4f14080adccb949fa2dc0d06304A441
G10|static|thalesog@me.com|1000|THALES OGLIARI|SAO MIGUEL DO O||Pedido 123|||
00020126510014br.gov.bcb.pix0115thalesog@me.com0210Pedido 123520400005303986540510.005802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***63040DC6
G11|static|4004901d-bd85-4769-8e52-cb4c42c506dc|57757|Pix|BRASILIA|99ed983ea570413d8d336301d|Jornada pagador 43107|||
00020126950014br.gov.bcb.pix01364004901d-bd85-4769-8e52-cb4c42c506dc0221Jornada pagador 431070308999990085204000053039865406577.575802BR5903Pix6008BRASILIA6229052599ed983ea570413d8d336301d630418B7
G12|static|thalesog@me.com||THALES OGLIARI|SAO MIGUEL DO O||Pedido 123|||
00020126510014br.gov.bcb.pix0115thalesog@me.com0210Pedido 1235204000053039865802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***630462CA
G13|static|thalesog@me.com||THALES OGLIARI|SAO MIGUEL DO O||Pedido 123|||
00020126630014br.gov.bcb.pix0115thalesog@me.com0210Pedido 1230308123412345204000053039865802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***6304901C
G14|dynamic|payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e87||THALES OGLIARI|SAO MIGUEL DO O|||||
00020126740014br.gov.bcb.pix2552payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e875204000053039865802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***630442C5
G15|dynamic|payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e87||BARBARA PELE|SAO MIGUEL DO O|||||
00020126740014br.gov.bcb.pix2552payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e875204000053039865802BR5912BARBARA PELE6015SAO MIGUEL DO O62070503***63040433
G16|dynamic|payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e87||THALES OGLIARI|SAO MIGUEL DO O||||once|
00020101021226740014br.gov.bcb.pix2552payload.psp.com/3ec9d2f9-5f03-4e0e-820d-63a81e769e875204000053039865802BR5914THALES OGLIARI6015SAO MIGUEL DO O62070503***63042895
G17|static|f4c6089a-bfde-4c00-a2d9-9eaa584b0219|65034|Pix|BRASILIA|80a2d0a923984e8dbb80b4adf|CobrancaEstatica|||qr-h.sandbox.pix.bcb.gov.br/rest/api/rec/d7913bcbfc4947c9811669db12b40374
00020126780014br.gov.bcb.pix0136f4c6089a-bfde-4c00-a2d9-9eaa584b02190216CobrancaEstatica5204000053039865406650.345802BR5903Pix6008BRASILIA6229052580a2d0a923984e8dbb80b4adf80950014br.gov.bcb.pix2573qr-h.sandbox.pix.bcb.gov.br/rest/api/rec/d7913bcbfc4947c9811669db12b403746304595A
G18|dynamic|qr-h.sandbox.pix.bcb.gov.br/rest/api/v2/7b2d64c4eb744a2d92a4dd5f8cfc4dfa||FULANO DE TAL|BRASILIA||||once|qr-h.sandbox.pix.bcb.gov.br/rest/api/rec/3d29b94249c54b3f8c533d729f59b5e5
00020101021226940014br.gov.bcb.pix2572qr-h.sandbox.pix.bcb.gov.br/rest/api/v2/7b2d64c4eb744a2d92a4dd5f8cfc4dfa5204000053039865802BR5913FULANO DE TAL6008BRASILIA62070503***80950014br.gov.bcb.pix2573qr-h.sandbox.pix.bcb.gov.br/rest/api/rec/3d29b94249c54b3f8c533d729f59b5e56304DBE0
G19|static|123e4567-e12b-12d1-a456-426655440000||Fulano de Tal|BRASILIA||||reusable|
00020101021126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***630448CD
G20|dynamic|pix.example.com/qr/93598be0-1bd0-4997-8318-81776a1d8a99||EMPRESA|SAO PAULO||||once|
00020101021226770014BR.GOV.BCB.PIX2555pix.example.com/qr/93598be0-1bd0-4997-8318-81776a1d8a995204000053039865802BR5907EMPRESA6009SAO PAULO62070503***6304EEAB
G21|static|+5511964771430|98600|Fulano de Tal|BRASILIA|||||
00020126360014BR.GOV.BCB.PIX0114+55119647714305204000053039865406986.005802BR5913Fulano de Tal6008BRASILIA62070503***63047E91
G22|static|+5511964771430|10000|Enrique|Sao Paulo|||||
00020126360014BR.GOV.BCB.PIX0114+55119647714305204000053039865406100.005802BR5907Enrique6009Sao Paulo62070503***630402D3
G23|dynamic|api-pix.bancobs2.com.br/spi/v2/cdbd7c5c-0465-41da-bf4f-2abc393011ec|1030|PAGSMILE|Belo Horizonte|||30380403||
00020126890014BR.GOV.BCB.PIX2567api-pix.bancobs2.com.br/spi/v2/cdbd7c5c-0465-41da-bf4f-2abc393011ec520400005303986540510.305802BR5908PAGSMILE6014Belo Horizonte61083038040362070503***63044D55
G24|dynamic|pix-qr.mercadopago.com/instore/ol/v2/3Z92vwxO3Le6HS6SjSFvON||Joao Victor Concurseiro|SAO PAULO|mpis|||reusable|
00020101021126810014BR.GOV.BCB.PIX2559pix-qr.mercadopago.com/instore/ol/v2/3Z92vwxO3Le6HS6SjSFvON5204000053039865802BR5923Joao Victor Concurseiro6009SAO PAULO62080504mpis6304342A
G25|static|nubank@thalesog.com|100|Thales Ogliari|Sao Paulo||Gerado por Pix-Utils|||
00020126650014br.gov.bcb.pix0119nubank@thalesog.com0220Gerado por Pix-Utils52040000530398654041.005802BR5914Thales Ogliari6009Sao Paulo62070503***63046069
G26|static|nubank@thalesog.com|100|Thales Ogliari|SAO MIGUEL DO O||Gerado por Pix-Utils|||
00020126650014br.gov.bcb.pix0119nubank@thalesog.com0220Gerado por Pix-Utils52040000530398654041.005802BR5914Thales Ogliari6015SAO MIGUEL DO O62070503***6304059A
G27|dynamic|example.test/v2/cobv/aaaabbbbccccdddd||LOJA TESTE|CIDADE D|ORDEMTEST001|||once|
00020101021226590014BR.GOV.BCB.PIX2537example.test/v2/cobv/aaaabbbbccccdddd5204000053039865802BR5910LOJA TESTE6008CIDADE D62160512ORDEMTEST0016304B02B
`

// id | error
const BROKEN = `
N1|structure
00020126360014BR.GOV.BCB.PIX0114+5511943214321520400005303986540566.665802BR5907EMPRESA6008BRASILIA62080503***6304170E
N2|checksum
00020101021226800014br.gov.bcb.pix2558invoice.starkbank.com/f5333103-3279-4db2-8389-5efe335ba93d5204000053039865802BR5913Arya Stark6009Sao Paulo6220051656565656565656566304A9A0
N3|checksum
00020101021226870014br.gov.bcb.pix2565pix.basspago.com.br/qr/v3/at/b2b79ff3-bc21-4fc2-bad5-ec0833e908b95204000053039865802BR5918WARM_UP_ASSESSORIA6007NITEROI62070503***63048CBF
N4|location
00020126540014br.gov.bcb.pix2532https://pix.thalesogliari.com.br5204000053039865802BR5914Thales Ogliari6009SAO PAULO62070503***63043FD3
N5|checksum
00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3E
N7|characters
…53000065802BR…61040000
`
const parseList = (text: string) =>
  [...text.matchAll(/^([GN]\d+)\|(.*)\n(.*)$/gm)].map(([, name = '', columns = '', code = '']) => ({
    name,
    columns: columns.split('|'),
    code,
  }))
const published = parseList(PUBLISHED)
const broken = parseList(BROKEN)
const charges = published.filter(({ columns }) => columns[0] !== 'unsupported')
const recurrences = published.filter(({ columns }) => columns[0] === 'unsupported')
const G01 = published[0]?.code ?? ''

function expectedReading(columns: string[]) {
  const [kind, target, amount, merchantName, merchantCity, ...rest] = columns
  const [txid, description, postalCode, use, recurrenceLocation] = rest.map(text => text || null)
  const shared = { merchantName, merchantCity, txid, description, postalCode, use }
  const where = kind === 'static' ? { key: target } : { location: target }
  const cents = amount ? Number(amount) : null
  return { kind, ...where, amount: cents, ...shared, recurrenceLocation }
}

function read(text: string) {
  const reading = parseBrCode(text)
  if (!reading.ok) throw new Error(`refused: ${reading.error}`)
  return reading.code
}

describe('reading published codes', () => {
  test('covers 25 codes of a charge, 2 of a recurrence only, and 6 broken ones', () => {
    expect([charges.length, recurrences.length, broken.length]).toEqual([25, 2, 6])
  })

  test.each(charges)('$name has the values of its source', ({ columns, code }) => {
    expect(read(code)).toEqual(expectedReading(columns))
  })

  test.each(charges)('$name has the same values in @brazilian-utils', ({ code }) => {
    const ours = read(code)
    const theirs = getPixPayloadInfo(code)
    expect(theirs).toMatchObject({
      merchantName: ours.merchantName,
      merchantCity: ours.merchantCity,
    })
    expect(theirs?.description ?? null).toBe(ours.description)
    if (ours.kind === 'dynamic') return expect(theirs?.url).toBe(ours.location)
    expect(theirs?.key).toBe(ours.key)
    expect(theirs?.txid ?? null).toBe(ours.txid)
    expect(Math.round((theirs?.amount ?? 0) * 100)).toBe(ours.amount ?? 0)
  })

  test.each(recurrences)('$name, a recurrence without a charge, is unsupported', ({ code }) => {
    expect(parseBrCode(code)).toEqual({ ok: false, error: 'unsupported' })
    expect(getPixPayloadInfo(code)).toBeNull()
  })

  test.each(broken)('$name, published with an error, is refused', ({ columns, code }) => {
    expect(parseBrCode(code)).toEqual({ ok: false, error: columns[0] })
  })

  test('N2, which has two errors, is refused even with a correct checksum', () => {
    const body = broken[1]?.code.slice(0, -4) ?? ''
    expect(parseBrCode(body + crc16(body))).toEqual({ ok: false, error: 'structure' })
  })

  test('N6, a checksum in lower case, is accepted', () => {
    expect(read(`${G01.slice(0, -4)}1d3d`)).toEqual(read(G01))
  })
})

const fulano = { merchantName: 'Fulano de Tal', merchantCity: 'BRASILIA' }

describe('building published codes', () => {
  test.each([
    [
      'S1',
      {
        key: '12ABC34501DE35',
        amount: 500,
        txid: 'PEDIDO0001',
        merchantName: 'José da Conceição',
        merchantCity: 'São Paulo',
      },
      '00020126360014br.gov.bcb.pix011412ABC34501DE3552040000530398654045.005802BR5917Jose da Conceicao6009Sao Paulo62140510PEDIDO000163040EC4',
    ],
    [
      'S2',
      {
        key: '+5511987654321',
        amount: 123_456,
        txid: 'ABCDEFGHIJKLMNOPQRSTUVWXY',
        merchantName: 'Mercearia Ñandú & Cia Comércio Ltda',
        merchantCity: 'São José do Rio Preto',
      },
      '00020126360014br.gov.bcb.pix0114+551198765432152040000530398654071234.565802BR5925Mercearia Nandu & Cia Com6015Sao Jose do Rio62290525ABCDEFGHIJKLMNOPQRSTUVWXY6304F8E7',
    ],
    [
      'S3',
      {
        key: 'fulano@example.com',
        description: 'Pedido 42',
        merchantName: 'Fulano de Tal',
        merchantCity: 'Brasília',
      },
      '00020126530014br.gov.bcb.pix0118fulano@example.com0209Pedido 425204000053039865802BR5913Fulano de Tal6008Brasilia62070503***63044417',
    ],
    ['G01', { ...fulano, key: '123e4567-e12b-12d1-a456-426655440000' }, G01],
  ])('%s is built exactly', (_, input, code) => {
    expect(buildStaticCode(input)).toBe(code)
  })

  test('D1 and G02 are built exactly', () => {
    const shop = { merchantName: 'Loja Exemplo', merchantCity: 'Brasilia' }
    expect(
      buildDynamicCode({
        ...shop,
        location: 'pix.example.test/qr/v2/7978c0c97ea847e78e8849634473c1f1',
      }),
    ).toBe(
      '00020101021226770014br.gov.bcb.pix2555pix.example.test/qr/v2/7978c0c97ea847e78e8849634473c1f15204000053039865802BR5912Loja Exemplo6008Brasilia62070503***630408C8',
    )
    expect(
      buildDynamicCode({ ...fulano, location: 'pix.example.com/8b3da2f39a4140d1a91abd93113bd441' }),
    ).toBe(published[1]?.code)
  })
})
