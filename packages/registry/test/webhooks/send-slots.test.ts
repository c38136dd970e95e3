import t from 'tap'
import { SendSlots } from '../../src/webhooks/due-messages.ts'

t.test('an owner has no more slots than it leaves free, whoever comes after it', async (t) => {
  const slots = new SendSlots({ concurrency: 32, perHost: 8 })
  let host = 0
  const takeAll = (owner: string) => {
    let count = 0
    for (; !slots.busy(0).owners.includes(owner) && slots.free > 0; count++)
      slots.take({ host: `host-${host++}`, owner })
    return count
  }
  t.same(['eve', 'mallory', 'trudy', 'ada'].map(takeAll), [16, 8, 4, 2])
  t.equal(slots.free, 2)
  slots.release({ host: 'host-0', owner: 'eve' }, true, 0)
  t.equal(slots.busy(0).owners.includes('eve'), true, 'what eve gives back goes to others')
})

t.test('a claim goes beyond no share, even if all of it is of one owner and for one host', async (t) => {
  const slots = new SendSlots({ concurrency: 32, perHost: 8 })
  t.equal(slots.mostAtOnce, 8)
  for (let n = 0; n < 3; n++) slots.take({ host: 'one', owner: 'eve' })
  t.equal(slots.mostAtOnce, 5)
  for (let n = 0; n < 12; n++) slots.take({ host: `host-${n}`, owner: 'eve' })
  t.equal(slots.mostAtOnce, 1)
})

t.test(
  'the circuit of a host: open after 5 attempts without an answer, longer each time, closed by an answer',
  async (t) => {
    const slots = new SendSlots({ concurrency: 32, perHost: 8 })
    const receiver = { host: 'one', owner: 'ada' }
    const attempt = (isAnswered: boolean | undefined, now: number) => {
      slots.take(receiver)
      slots.release(receiver, isAnswered, now)
      return slots.busy(now).hosts
    }
    for (let n = 0; n < 4; n++) t.same(attempt(false, 0), [])
    t.same(attempt(undefined, 0), [], 'not asked')
    t.same(attempt(false, 0), ['one'])
    t.equal(slots.nextAt(0), 5_000)
    t.same(slots.busy(4_999).hosts, ['one'])
    t.same(slots.busy(5_000).hosts, [])
    slots.take(receiver)
    t.same(slots.busy(5_000).hosts, ['one'], 'one at a time')
    slots.release(receiver, false, 5_000)
    t.equal(slots.nextAt(5_000), 15_000)
    for (let now = 15_000; now < 400_000; now += 60_000) attempt(false, now)
    t.equal(slots.nextAt(400_000)! <= 460_000, true, 'a minute at most')
    t.same(attempt(true, 500_000), [])
    t.equal(slots.nextAt(500_000), undefined)
  }
)
