import t from 'tap'
import { zoneOf } from '../../../../src/models/offline/assistant/time-zones.ts'

t.test('places have zones', async (t) => {
  const cases: [string, string | undefined][] = [
    ['Tokyo', 'Asia/Tokyo'],
    ['new york', 'America/New_York'],
    ['San Francisco', 'America/Los_Angeles'],
    ['Germany', 'Europe/Berlin'],
    ['Europe/Paris', 'Europe/Paris'],
    ['UTC', 'UTC'],
    ['UTC+2', '+02:00'],
    ['gmt-3:30', '-03:30'],
    ['Atlantis', undefined],
    ['__proto__', undefined],
    ['', undefined]
  ]
  for (const [place, zone] of cases) t.equal(zoneOf(place), zone, place)
})

t.test('every zone is one that can be used', async (t) => {
  for (const place of ['rome', 'india', 'kyiv', 'la', 'São Paulo', 'UTC+2'])
    t.doesNotThrow(() => new Intl.DateTimeFormat('en', { timeZone: zoneOf(place) ?? 'UTC' }), place)
})
