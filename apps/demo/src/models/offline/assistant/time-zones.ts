/** Places whose name is not in the name of their time zone. */
const ALIASES: Readonly<Record<string, string>> = {
  'Europe/London': 'uk,united kingdom,england,manchester,edinburgh,scotland',
  'Europe/Berlin': 'germany,munich,frankfurt,hamburg,cologne,cet',
  'Europe/Paris': 'france,lyon,marseille',
  'Europe/Madrid': 'spain,barcelona',
  'Europe/Rome': 'italy,milan,naples',
  'Europe/Zurich': 'switzerland,geneva,basel,bern',
  'Europe/Vienna': 'austria',
  'Europe/Amsterdam': 'netherlands,rotterdam',
  'Asia/Tokyo': 'japan,osaka,kyoto',
  'Asia/Seoul': 'korea,south korea',
  'Asia/Shanghai': 'china,beijing,shenzhen',
  'Asia/Kolkata': 'india,mumbai,delhi,new delhi,bangalore,chennai',
  'America/New_York': 'nyc,boston,washington,miami,atlanta,est,edt',
  'America/Chicago': 'houston,dallas,austin,texas',
  'America/Los_Angeles': 'la,san francisco,seattle,california,san diego,pst,pdt',
  'America/Toronto': 'montreal,ottawa',
  'America/Sao_Paulo': 'rio,rio de janeiro',
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
