// Places whose name is not the one of their time zone.
const ELSEWHERE: Readonly<Record<string, string>> = {
  'Europe/London':
    'uk,united kingdom,england,great britain,britain,manchester,liverpool,edinburgh,scotland,wales',
  'Europe/Berlin': 'germany,munich,münchen,köln,frankfurt,hamburg,cologne,leipzig,dresden,stuttgart,cet',
  'Europe/Paris': 'france,lyon,marseille,toulouse,nice',
  'Europe/Madrid': 'spain,barcelona,valencia,seville',
  'Europe/Rome': 'italy,milan,roma,mailand,naples,turin,florence,venice',
  'Europe/Zurich': 'switzerland,geneva,bern,basel,zürich',
  'Europe/Vienna': 'austria,salzburg,graz,wien',
  'Europe/Amsterdam': 'netherlands,holland,rotterdam,the hague',
  'Europe/Brussels': 'belgium',
  'Europe/Lisbon': 'portugal,porto',
  'Europe/Dublin': 'ireland',
  'Europe/Stockholm': 'sweden',
  'Europe/Oslo': 'norway',
  'Europe/Copenhagen': 'denmark',
  'Europe/Helsinki': 'finland,eet',
  'Europe/Warsaw': 'poland,krakow',
  'Europe/Prague': 'czechia,czech republic',
  'Europe/Athens': 'greece',
  'Europe/Istanbul': 'turkey,ankara',
  'Europe/Kyiv': 'ukraine,kiev',
  'Asia/Tokyo': 'japan,osaka,kyoto,jst',
  'Asia/Seoul': 'korea,south korea',
  'Asia/Shanghai': 'china,beijing,shenzhen,peking',
  'Asia/Kolkata': 'india,mumbai,delhi,new delhi,bangalore,bengaluru,chennai,hyderabad,calcutta,ist',
  'Asia/Dubai': 'uae,abu dhabi',
  'Asia/Jerusalem': 'israel,tel aviv',
  'Asia/Bangkok': 'thailand',
  'Asia/Ho_Chi_Minh': 'vietnam,saigon,hanoi',
  'Asia/Manila': 'philippines',
  'Asia/Taipei': 'taiwan',
  'Africa/Cairo': 'egypt',
  'Africa/Lagos': 'nigeria',
  'Africa/Nairobi': 'kenya',
  'Africa/Johannesburg': 'south africa,cape town',
  'America/New_York':
    'nyc,boston,washington,washington dc,miami,atlanta,philadelphia,florida,est,edt,eastern time',
  'America/Chicago': 'texas,houston,dallas,austin,cst,central time',
  'America/Denver': 'colorado,mst,mountain time',
  'America/Los_Angeles':
    'la,l.a,san francisco,seattle,california,silicon valley,san diego,portland,las vegas,pst,pdt,pacific time',
  'America/Toronto': 'ottawa,montreal,montréal,quebec',
  'America/Sao_Paulo': 'são paulo,rio,rio de janeiro',
  'America/Argentina/Buenos_Aires': 'argentina',
  'America/Bogota': 'colombia,bogotá',
  'America/Lima': 'peru',
  'America/Santiago': 'chile',
  'America/Mexico_City': 'mexico',
  'Pacific/Honolulu': 'hawaii',
  'Pacific/Auckland': 'new zealand,wellington',
  UTC: 'utc,gmt,greenwich,zulu,z,universal time'
}

const BY_NAME = new Map<string, string>()
for (const zone of Intl.supportedValuesOf('timeZone')) {
  BY_NAME.set(zone.toLowerCase(), zone)
  BY_NAME.set(zone.split('/').at(-1)!.replaceAll('_', ' ').toLowerCase(), zone)
}
for (const [zone, names] of Object.entries(ELSEWHERE)) {
  BY_NAME.set(zone.toLowerCase(), zone)
  for (const name of names.split(',')) BY_NAME.set(name, zone)
}

/** The IANA time zone of a city, a country with one zone, a zone's own name or `UTC+2`; null for what is unknown. */
export function zoneOfPlace(place: string): string | null {
  const name = place.trim().toLowerCase().replaceAll('_', ' ')
  const offset = /^(?:utc|gmt)\s*([+-])\s*(\d{1,2})(?::?([0-5]\d))?$/.exec(name)
  if (offset !== null && Number(offset[2]) <= 14)
    return `${offset[1]}${offset[2]!.padStart(2, '0')}:${offset[3] ?? '00'}`
  return BY_NAME.get(name) ?? BY_NAME.get(name.replaceAll(' ', '_')) ?? null
}
