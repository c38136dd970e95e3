import type { LogEntry } from '@svc/registry'
import t from 'tap'
import { FollowedLog } from '../../src/stores/followed-log.ts'

const limit = { entries: 10, bytes: 1000 }
const page: LogEntry[] = []

function followTwice() {
  const log = new FollowedLog()
  log.followers.add(() => {})
  log.followers.add(() => {})
  return log
}

t.test('followers who ask for the same page share one read, until the log changes', async (t) => {
  const log = followTwice()
  let reads = 0
  const read = async () => {
    reads++
    return page
  }
  await Promise.all([log.share(0, limit, read), log.share(0, limit, read)])
  t.equal(reads, 1)
  await log.share(1, limit, read)
  t.equal(reads, 2, 'another page')
  log.outdate()
  await log.share(0, limit, read)
  t.equal(reads, 3, 'the log has changed')
})

t.test('a failed read of a page is repeated', async (t) => {
  const log = followTwice()
  await t.rejects(log.share(0, limit, () => Promise.reject(new Error('disk I/O error'))))
  t.equal(await log.share(0, limit, async () => page), page)
})

t.test('a late failure leaves the page that was read since', async (t) => {
  const log = followTwice()
  const failing = Promise.withResolvers<LogEntry[]>()
  const late = log.share(0, limit, () => failing.promise)
  log.outdate()
  await log.share(0, limit, async () => page)
  failing.reject(new Error('disk I/O error'))
  await t.rejects(late)
  t.equal(await log.share(0, limit, () => Promise.reject(new Error('read again'))), page)
})
