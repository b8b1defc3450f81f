/** The time of banks and of the operator's staff: Brasília, which has had no summer time since 2019. */
export const HOME_TIME_ZONE = 'America/Sao_Paulo'

const CALENDAR = new Intl.DateTimeFormat('en-CA', { timeZone: HOME_TIME_ZONE })

/** The day of banks, such as `2026-11-20`. */
export function dayOf(at: Date): string {
  return CALENDAR.format(at)
}
