import t from 'tap'
import { defined } from '../src/index.ts'

interface Options {
  a?: number
  b?: string
  c: boolean | null
}

t.test('fields that are undefined are absent, others stay in their order', async (t) => {
  const a: number | undefined = undefined
  const b: string | undefined = ['x'].at(0)
  const options: Options = { c: null, ...defined({ a, b }) }
  t.strictSame(Object.entries(options), [
    ['c', null],
    ['b', 'x']
  ])
  const whole: Options = defined({ a, b, c: false })
  t.strictSame(Object.entries(whole), [
    ['b', 'x'],
    ['c', false]
  ])
})

t.test('options take the place of defaults only where they are given', async (t) => {
  const asked: { limit?: number | undefined; name?: string } = { limit: undefined, name: 'x' }
  const settings: { limit: number; name: string } = { limit: 1, name: 'y', ...defined(asked) }
  t.strictSame(settings, { limit: 1, name: 'x' })
})
