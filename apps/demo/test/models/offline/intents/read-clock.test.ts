import t from 'tap'
import type { Before } from '../../../../src/models/offline/intents/intent.ts'
import { readClock } from '../../../../src/models/offline/intents/read-clock.ts'

const nothing: Before = { asked: [], readSections: [] }
const afterClock: Before = {
  asked: [{ text: '', turn: 0, intent: { type: 'clock', aspect: 'time', places: [] } }],
  readSections: []
}
const zonesOf = (text: string, before = nothing) => {
  const intent = readClock(text, before)
  return intent?.type === 'clock' ? [intent.aspect, ...intent.places.map(({ zone }) => zone)] : undefined
}

t.test('questions for the time and the date', async (t) => {
  const cases: [string, (string | null)[]][] = [
    ['what time is it?', ['time']],
    ['What’s the time please', ['time']],
    ['tell me the time', ['time']],
    ['what is the current time in Tokyo?', ['time', 'Asia/Tokyo']],
    ['What time is it in Tokyo and New York?', ['time', 'Asia/Tokyo', 'America/New_York']],
    ['time in UTC', ['time', 'UTC']],
    ['what time is it in Atlantis', ['time', null]],
    ['what day is it today?', ['date']],
    ["what's the date in Sydney right now", ['date', 'Australia/Sydney']],
    ['what year is it', ['date']]
  ]
  for (const [text, wanted] of cases) t.strictSame(zonesOf(text), wanted, text)
})

t.test('other times are none', async (t) => {
  for (const text of [
    'what is the time-out of a tool?',
    'what is the timeout?',
    'how many times is it tried again?',
    'can two clients watch at the same time?',
    'what is the time to first token?',
    'what date format is used?'
  ])
    t.equal(zonesOf(text), undefined, text)
})

t.test('it goes on after a time', async (t) => {
  t.strictSame(zonesOf('and in Paris?', afterClock), ['time', 'Europe/Paris'])
  t.strictSame(zonesOf('what about London?', afterClock), ['time', 'Europe/London'])
  t.equal(zonesOf('and in Paris?'), undefined)
  t.equal(zonesOf('what about sessions?', afterClock), undefined)
})
