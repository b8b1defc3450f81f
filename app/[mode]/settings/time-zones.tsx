import { useLocale } from 'next-intl'

/** Brazilian zones with their local names; other zones show their identifier. */
const BRAZIL: Record<string, string> = {
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
  brazil: string
  world: string
}

/** Options of all time zones, the Brazilian zones first. */
export function TimeZoneOptions({ brazil, world }: TimeZoneOptionsProps) {
  const locale = useLocale()
  const known = Intl.supportedValuesOf('timeZone')
  const others = known.filter(name => !(name in BRAZIL))
  const option = (name: string, label: string) => (
    <option key={name} value={name}>
      {label} ({offsetOf(name, locale)})
    </option>
  )
  return (
    <>
      <optgroup label={brazil}>
        {Object.entries(BRAZIL)
          .filter(([name]) => known.includes(name))
          .map(([name, city]) => option(name, city))}
      </optgroup>
      <optgroup label={world}>
        {others.map(name => option(name, name.replaceAll('_', ' ').replaceAll('/', ' / ')))}
        {others.includes('UTC') ? null : option('UTC', 'UTC')}
      </optgroup>
    </>
  )
}

function offsetOf(timeZone: string, locale: string): string {
  const parts = new Intl.DateTimeFormat(locale, {
    timeZone,
    timeZoneName: 'shortOffset',
  }).formatToParts(new Date())
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
}
