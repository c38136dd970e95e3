import { isIPv4, isIPv6 } from 'node:net'

const DATE = /^\d{4}-(\d\d)-(\d\d)$/
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)$/i
const EMAIL = /^[^\s@]+@[^\s@]+$/
const HOSTNAME = /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)*$/i
const UUID = /^(?:urn:uuid:)?[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** The checked formats; each check takes time linear in the length of the text. */
export const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', (text: string) => TIME.test(text)],
  ['date-time', isDateTime],
  ['email', (text: string) => EMAIL.test(text)],
  ['hostname', (text: string) => text.length <= 253 && HOSTNAME.test(text)],
  ['ipv4', isIPv4],
  ['ipv6', isIPv6],
  ['uri', (text: string) => URL.canParse(text)],
  ['uuid', (text: string) => UUID.test(text)]
])

function isDate(text: string): boolean {
  const [, month, day] = DATE.exec(text) ?? []
  // Date accepts the 31st of any month as a day of the next month.
  return month !== undefined && new Date(`${text}T00:00:00Z`).getUTCDate() === Number(day)
}

function isDateTime(text: string): boolean {
  return isDate(text.slice(0, 10)) && /^[t ]$/i.test(text.charAt(10)) && TIME.test(text.slice(11))
}
