import { useLocale } from 'next-intl'

/** Brazilian zones with their local names; other zones show their identifier. */
const BRAZILIAN_ZONES: Record<string, string> = {
  'America/Sao_Paulo': 'São Paulo, Brasília',
  'America/Bahia': 'Salvador',
  'America/Fortaleza': 'Fortaleza',
  'America/Recife': 'Recife',
  'America/Maceio': 'Maceió',
  'America/Belem': 'Belém',
  'America/Santarem': 'Santarém',
  'America/Araguaina': 'Araguaína',
  'America/Manaus': 'Manaus',
  'America/Cuiaba': 'Cuiabá',
  'America/Campo_Grande': 'Campo Grande',
  'America/Porto_Velho': 'Porto Velho',
  'America/Boa_Vista': 'Boa Vista',
  'America/Rio_Branco': 'Rio Branco',
  'America/Eirunepe': 'Eirunepé',
  'America/Noronha': 'Fernando de Noronha',
}

interface TimeZoneOptionsProps {
  brazilLabel: string
  worldLabel: string
}

export function TimeZoneOptions({ brazilLabel, worldLabel }: TimeZoneOptionsProps) {
  const locale = useLocale()
  const supportedZones = Intl.supportedValuesOf('timeZone')
  const otherZones = supportedZones.filter(name => !(name in BRAZILIAN_ZONES))
  const option = (name: string, label: string) => (
    <option key={name} value={name}>
      {label} ({offsetOf(name, locale)})
    </option>
  )
  return (
    <>
      <optgroup label={brazilLabel}>
        {Object.entries(BRAZILIAN_ZONES)
          .filter(([name]) => supportedZones.includes(name))
          .map(([name, city]) => option(name, city))}
      </optgroup>
      <optgroup label={worldLabel}>
        {otherZones.map(name => option(name, name.replaceAll('_', ' ').replaceAll('/', ' / ')))}
        {otherZones.includes('UTC') ? null : option('UTC', 'UTC')}
      </optgroup>
    </>
  )
}

/** By language and zone, of the current hour: to make the formatters of all zones takes 50 ms. */
const offsets = new Map<string, string>()
let offsetsHour = 0
const HOUR_MS = 3_600_000

function offsetOf(timeZone: string, locale: string): string {
  const hour = Math.floor(Date.now() / HOUR_MS)
  if (hour !== offsetsHour) offsets.clear()
  offsetsHour = hour
  const key = `${locale} ${timeZone}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'shortOffset' })
  const parts = format.formatToParts(new Date())
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  offsets.set(key, offset)
  return offset
}
