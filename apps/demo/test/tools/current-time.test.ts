import t from 'tap'
import { formatTime } from '../../src/tools/current-time.ts'

const noon = new Date('2026-07-01T12:00:00Z')

t.test('the time in a zone', async (t) => {
  t.strictSame(formatTime(noon, 'Asia/Tokyo'), {
    timeZone: 'Asia/Tokyo',
    time: '21:00:00',
    weekday: 'Wednesday',
    date: '1 July 2026',
    utcOffset: 'UTC+09:00',
    instant: '2026-07-01T12:00:00.000Z'
  })
  t.match(formatTime(noon, 'UTC'), { time: '12:00:00', utcOffset: 'UTC' })
  t.match(formatTime(noon, '+05:30'), { time: '17:30:00' })
})

t.test('the time where the service runs', async (t) => {
  t.equal(formatTime(noon).timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone)
})

t.test('an unknown zone is a result, not a failure of the tool', async (t) => {
  t.match(formatTime(noon, 'Mars/Base'), { error: /no time zone “Mars\/Base”/ })
})
