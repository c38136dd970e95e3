import { setImmediate } from 'node:timers/promises'
import { createPause, nextTurn } from '../src/json.ts'
import t from 'tap'

t.test('one waiter resumes per turn, in order', async (t) => {
  const order: string[] = []
  let turns = 0
  let isOver = false
  const count = async () => {
    while (!isOver) {
      await setImmediate()
      turns++
    }
  }
  const counting = count()
  const work = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await nextTurn()
      order.push(`${name}${step}`)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(work))
  isOver = true
  await counting
  t.same(order, ['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
  t.ok(turns >= 8, `${turns} turns`)
})

t.test('a pause uses no turn until it ends', async (t) => {
  let turned = false
  const other = setImmediate().then(() => (turned = true))
  const pause = createPause()
  await pause()
  t.notOk(turned)
  for (const end = performance.now() + 6; performance.now() < end;);
  await pause()
  t.ok(turned)
  await other
})
