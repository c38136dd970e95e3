import { quoteName } from '../../src/requests/strict-json.ts'
import t from 'tap'

t.test('a long name is cut, and unprintable characters are replaced', async (t) => {
  t.equal(quoteName('message/send'), '"message/send"')
  t.equal(quoteName('x'.repeat(1_000_000)), `"${'x'.repeat(64)}"`)
  t.equal(quoteName('a\u0000\u001b[2J\n\u2028\u202e\u200bb'), '"a??[2J????b"')
  t.equal(quoteName('grüße, 日本 %s é'), '"grüße, 日本 %s é"')
  t.equal(quoteName(`${'x'.repeat(63)}😀`), `"${'x'.repeat(63)}?"`)
  t.equal(quoteName(5), '"5"')
})
