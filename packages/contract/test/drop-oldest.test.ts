import { dropOldest, setNewest } from '../src/drop-oldest.ts'
import t from 'tap'

t.test('the entries that were added first are dropped beyond a number', async (t) => {
  const map = new Map([1, 2, 3, 4].map((key) => [key, key]))
  dropOldest(map, 4)
  t.strictSame([...map.keys()], [1, 2, 3, 4])
  map.set(1, 5)
  dropOldest(map, 2)
  t.strictSame([...map.keys()], [3, 4], 'a new value does not make an entry newer')
  const set = new Set(['a', 'b'])
  set.delete('a')
  set.add('a')
  dropOldest(set, 1)
  t.strictSame([...set], ['a'])
  dropOldest(set, 0)
  t.equal(set.size, 0)
})

t.test('an entry that is set again is the newest', async (t) => {
  const map = new Map<string, number>()
  for (const key of ['a', 'b', 'a', 'c']) setNewest(map, key, map.size, 2)
  t.strictSame(
    [...map],
    [
      ['a', 2],
      ['c', 2]
    ]
  )
})
