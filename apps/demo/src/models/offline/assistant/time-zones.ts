/** Places whose name is not in the name of their time zone. */
const ALIASES: Readonly<Record<string, string>> = {
  'Europe/London': 'uk,england,manchester,edinburgh',
  'Europe/Berlin': 'germany,munich,frankfurt,hamburg,cologne',
  'Europe/Paris': 'france,lyon',
  'Europe/Madrid': 'spain,barcelona',
  'Europe/Rome': 'italy,milan',
  'Europe/Zurich': 'switzerland,geneva,bern',
  'Asia/Tokyo': 'japan,osaka',
  'Asia/Shanghai': 'china,beijing',
  'Asia/Kolkata': 'india,mumbai,delhi,bangalore',
  'America/New_York': 'nyc,boston,washington,miami',
  'America/Los_Angeles': 'la,san francisco,seattle,california',
  UTC: 'utc,gmt'
}
const zones = new Map<string, string>()
for (const zone of Intl.supportedValuesOf('timeZone')) {
  zones.set(zone.toLowerCase(), zone)
  zones.set(zone.split('/').at(-1)!.replaceAll('_', ' ').toLowerCase(), zone)
}
for (const [zone, names] of Object.entries(ALIASES))
  for (const name of names.split(',')) zones.set(name, zone)

/** The IANA time zone of a city or of a country with one zone, a zone's own name, or an offset such as `UTC+2`. */
export function zoneOf(place: string): string | undefined {
  const name = place.trim().toLowerCase().normalize('NFD').replace(/\p{M}/gu, '').replace(/^the /, '')
  const offset = /^(?:utc|gmt) ?([+-]) ?(\d{1,2})(?::?([0-5]\d))?$/.exec(name)
  if (offset !== null && Number(offset[2]) <= 14)
    return `${offset[1]}${offset[2]!.padStart(2, '0')}:${offset[3] ?? '00'}`
  return zones.get(name)
}
