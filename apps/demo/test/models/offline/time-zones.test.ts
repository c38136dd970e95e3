import t from 'tap'
import { detectLanguage } from '../../../src/models/offline/detect-language.ts'
import { zoneOfPlace } from '../../../src/models/offline/time-zones.ts'

t.test('places have zones', async (t) => {
  const cases: [string, string | null][] = [
    ['Tokyo', 'Asia/Tokyo'],
    ['new york', 'America/New_York'],
    ['San Francisco', 'America/Los_Angeles'],
    ['Germany', 'Europe/Berlin'],
    ['Europe/Paris', 'Europe/Paris'],
    ['UTC', 'UTC'],
    ['UTC+2', '+02:00'],
    ['gmt-3:30', '-03:30'],
    ['Atlantis', null],
    ['__proto__', null],
    ['', null]
  ]
  for (const [place, zone] of cases) t.equal(zoneOfPlace(place), zone, place)
})

t.test('every zone is one that can be used', async (t) => {
  for (const place of ['rome', 'india', 'rio', 'kyiv', 'saigon', 'la', '+02:00', 'z'])
    t.doesNotThrow(() => new Intl.DateTimeFormat('en', { timeZone: zoneOfPlace(place) ?? 'UTC' }), place)
})

t.test('languages', async (t) => {
  const cases: [string, string | undefined][] = [
    ['Wie kann ich das machen?', 'de'],
    ['Comment est-ce que je peux faire ?', 'fr'],
    ['¿Cómo puedo hacer esto?', 'es'],
    ['日本語で答えてください', 'ja'],
    ['如何取消', 'zh'],
    ['Как отменить?', 'ru'],
    ['How do I cancel a run?', undefined],
    ['cancel run', undefined],
    ['', undefined]
  ]
  for (const [text, language] of cases) t.equal(detectLanguage(text), language, text)
})
