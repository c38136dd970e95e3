import t from 'tap'
import { tellTime } from '../../src/tools/current-time.ts'

const noon = new Date('2026-07-01T12:00:00Z')

t.test('the time in a zone', async (t) => {
  t.strictSame(tellTime(noon, 'Asia/Tokyo'), {
    timeZone: 'Asia/Tokyo',
    time: '21:00:00',
    weekday: 'Wednesday',
    date: '1 July 2026',
    utcOffset: 'UTC+09:00',
    instant: '2026-07-01T12:00:00.000Z'
  })
  t.match(tellTime(noon, 'UTC'), { time: '12:00:00', utcOffset: 'UTC' })
  t.match(tellTime(noon, '+05:30'), { time: '17:30:00' })
})

t.test('the time where the service runs', async (t) => {
  t.equal(tellTime(noon).timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone)
})

t.test('a zone that is unknown is no failure of the tool', async (t) => {
  t.match(tellTime(noon, 'Mars/Base'), { error: /no time zone “Mars\/Base”/ })
})
