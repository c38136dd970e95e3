import t from 'tap'
import { CronTimes, requireCron } from '../../src/schedules/schedule-plan.ts'

const at = (text: string) => Date.parse(text)
const iso = (time: number | undefined) => time && new Date(time).toISOString()

/** The instants from a time on, in UTC. */
function instants(expression: string, timeZone: string, from: string, count: number) {
  const times = new CronTimes(expression, timeZone)
  const found: (string | number | undefined)[] = []
  for (let time: number | undefined = at(from); found.length < count && time !== undefined;) {
    time = times.next(time)
    found.push(iso(time))
  }
  return found
}

type Change = [name: string, cron: string, zone: string, from: string, expected: string[]]

t.test('times of day fire once a day, also where summer time skips or repeats them', async (t) => {
  const changes: Change[] = [
    [
      'a skipped time fires right after the change',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']
    ],
    [
      'skipped times that are to fire together with the first hour after them fire once',
      '0 2,3 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:00:00.000Z']
    ],
    [
      'a repeated time fires the first time',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']
    ],
    [
      'so do the times of a list or a range',
      '0 1-3 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00:00Z',
      [
        '2026-10-24T23:00:00.000Z',
        '2026-10-25T00:00:00.000Z',
        '2026-10-25T02:00:00.000Z',
        '2026-10-26T00:00:00.000Z'
      ]
    ],
    [
      'so do those of a step',
      '*/30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00:00Z',
      ['2026-10-25T00:00:00.000Z', '2026-10-25T00:30:00.000Z', '2026-10-26T01:00:00.000Z']
    ],
    [
      'times of a step that are skipped fire together',
      '*/30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:00:00.000Z', '2026-03-30T00:30:00.000Z']
    ],
    [
      'hours of a step that are repeated fire once',
      '0 */2 * * *',
      'Europe/Berlin',
      '2026-10-24T21:30:00Z',
      ['2026-10-24T22:00:00.000Z', '2026-10-25T00:00:00.000Z', '2026-10-25T03:00:00.000Z']
    ],
    [
      'a skipped time in America',
      '30 2 * * *',
      'America/New_York',
      '2026-03-07T12:00:00Z',
      ['2026-03-08T07:00:00.000Z', '2026-03-09T06:30:00.000Z']
    ],
    [
      'a repeated time in America',
      '30 1 * * *',
      'America/New_York',
      '2026-10-31T12:00:00Z',
      ['2026-11-01T05:30:00.000Z', '2026-11-02T06:30:00.000Z']
    ],
    [
      'midnight is skipped',
      '0 0 * * *',
      'America/Santiago',
      '2026-09-05T12:00:00Z',
      ['2026-09-06T04:00:00.000Z', '2026-09-07T03:00:00.000Z']
    ],
    [
      'half an hour is skipped',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T00:00:00Z',
      ['2026-10-03T15:30:00.000Z', '2026-10-04T15:15:00.000Z']
    ],
    [
      'half an hour is repeated',
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T00:00:00Z',
      ['2026-04-04T14:45:00.000Z', '2026-04-05T15:15:00.000Z']
    ],
    [
      'a zone without summer time',
      '0 9 * * *',
      'Asia/Tokyo',
      '2026-03-29T00:00:00Z',
      ['2026-03-30T00:00:00.000Z', '2026-03-31T00:00:00.000Z']
    ]
  ]
  for (const [name, cron, zone, from, expected] of changes)
    t.same(instants(cron, zone, from, expected.length), expected, name)
})

t.test(
  'what fires in every hour does so in each hour that passes: no instant twice, and no gap',
  async (t) => {
    const intervals: [cron: string, zone: string, from: string, minutes: number][] = [
      ['0 * * * *', 'Europe/Berlin', '2026-03-28T23:30:00Z', 60],
      ['0 * * * *', 'Europe/Berlin', '2026-10-24T22:30:00Z', 60],
      ['0 0-23 * * *', 'Europe/Berlin', '2026-10-24T22:30:00Z', 60],
      ['@hourly', 'Europe/Berlin', '2026-10-24T22:30:00Z', 60],
      ['*/20 * * * *', 'Europe/Berlin', '2026-10-24T23:30:00Z', 20],
      ['* * * * *', 'America/New_York', '2026-11-01T04:59:30Z', 1],
      ['* * * * *', 'America/New_York', '2026-03-08T05:59:30Z', 1],
      ['*/10 * * * *', 'Australia/Lord_Howe', '2026-04-04T13:55:00Z', 10],
      ['*/10 * * * *', 'Australia/Lord_Howe', '2026-10-03T14:55:00Z', 10]
    ]
    for (const [cron, zone, from, minutes] of intervals) {
      const found = instants(cron, zone, from, 180 / minutes + 1).map((text) => at(String(text)))
      const gaps = new Set(found.slice(1).map((time, i) => (time - found[i]!) / 60_000))
      t.same([...gaps], [minutes], `${cron} ${zone} ${from}`)
    }
  }
)

t.test('over a change, next and last name the same instants from any moment', async (t) => {
  for (const [cron, zone, change] of [
    ['* * * * *', 'Europe/Berlin', '2026-10-25T01:00:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:00:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
    ['*/7 1-4 * * *', 'Australia/Lord_Howe', '2026-10-03T15:30:00Z']
  ] as const) {
    const times = new CronTimes(cron, zone)
    const begin = at(change) - 7_200_000
    const end = at(change) + 7_200_000
    const all: number[] = []
    for (let next = times.next(begin)!; next <= end; next = times.next(next)!) all.push(next)
    const wrong: (string | number | undefined)[] = []
    for (let now = begin; now < end; now += 97_000) {
      const next = all.find((time) => time > now)
      if (next !== undefined && times.next(now) !== next) wrong.push(iso(now))
      const last = all.findLast((time) => time <= now) ?? begin
      if (times.last(begin, now) !== last) wrong.push(iso(now))
    }
    t.same(wrong, [], `${cron} ${zone} ${change}: ${all.length} instants`)
  }
})

t.test('the last instant up to a time is found at once, over any distance', async (t) => {
  const times = new CronTimes('*/5 * * * *', 'UTC')
  const from = at('2020-01-01T00:00:00Z')
  t.equal(iso(times.last(from, at('2026-05-05T10:07:31.500Z'))), '2026-05-05T10:05:00.000Z')
  t.equal(iso(times.last(from, at('2026-05-05T10:05:00Z'))), '2026-05-05T10:05:00.000Z')
  t.equal(iso(times.last(from, from + 1_000)), '2020-01-01T00:00:00.000Z')
  const yearly = new CronTimes('0 0 29 2 *', 'UTC')
  const leap = at('2024-02-29T00:00:00Z')
  t.equal(yearly.last(leap, at('2027-12-31T00:00:00Z')), leap)
})

t.test('expressions that are wrong, never fire or fire too often are refused by what is wrong', async (t) => {
  const now = at('2026-11-23T00:00:00Z')
  const refused: [cron: string, zone: string, code: string][] = [
    ['', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['daily', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['@reboot', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['* * * *', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['60 * * * *', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['0 0 9 * * * 2027', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['2027-01-01T00:00:00Z', 'UTC', 'RUN_ERR_SCHEDULE_CRON'],
    ['0 0 30 2 *', 'UTC', 'RUN_ERR_SCHEDULE_NEVER'],
    ['0 0 31 4,6 *', 'UTC', 'RUN_ERR_SCHEDULE_NEVER'],
    ['0 0 31 2,4,6,9,11 *', 'UTC', 'RUN_ERR_SCHEDULE_NEVER'],
    ['* * * * * *', 'UTC', 'RUN_ERR_SCHEDULE_TOO_OFTEN'],
    ['*/30 * * * * *', 'UTC', 'RUN_ERR_SCHEDULE_TOO_OFTEN'],
    ['0,59 0 9 1 1 *', 'UTC', 'RUN_ERR_SCHEDULE_TOO_OFTEN'],
    ['0 9 * * *', 'Europe/Atlantis', 'RUN_ERR_SCHEDULE_TIME_ZONE'],
    ['0 9 * * *', '', 'RUN_ERR_SCHEDULE_TIME_ZONE']
  ]
  for (const [cron, zone, code] of refused)
    t.throws(() => requireCron(cron, zone, now), { code, statusCode: 400 }, `${cron} ${zone}`)
  for (const cron of ['* * * * *', '15 * * * * *', '@daily', '0 9 * * MON-FRI', '0 0 29 2 *', '0 0 L * *'])
    t.doesNotThrow(() => requireCron(cron, 'Europe/Berlin', now), cron)
})
