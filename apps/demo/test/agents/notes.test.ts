import { join } from 'node:path'
import { createRunEngine, type Run, type RunEngine, type Stores } from '@svc/registry'
import { createStore } from '@svc/store'
import t from 'tap'
import { createNotes } from '../../src/agents/notes.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const notes = createNotes(createOfflineModel({ delay: 0 }))

function startEngine(t: { teardown(fn: () => unknown): unknown }, stores?: Stores) {
  const engine = createRunEngine({ ...(stores && { stores }) })
  t.teardown(() => engine.close())
  const ask = (input: string, userId = 'ada') => engine.start(notes, input, { userId })
  const say = async (input: string, userId?: string) => (await (await ask(input, userId)).result()).text
  return { engine, ask, say }
}

/** Answers the approval that a run waits for. */
async function answer(engine: RunEngine, run: Run, approved: boolean, reason?: string): Promise<string> {
  for await (const part of run.parts()) {
    if (part.type === 'tool.approval.request')
      await engine.answer(part.approvalId, { approved, ...(reason !== undefined && { reason }) })
  }
  return (await run.result()).text
}

t.test('keeps notes, each with a number, for each user apart', async (t) => {
  const { say } = startEngine(t)
  t.equal(await say('note: buy milk'), 'Noted as number 1: buy milk')
  t.equal(await say('note that Ada calls'), 'Noted as number 2: Ada calls')
  t.equal(await say('list my notes'), '1. buy milk\n2. Ada calls')
  t.match(await say('list my notes', 'grace'), /no notes/)
})

t.test('deletes one when it is approved, and only then', async (t) => {
  const { engine, ask, say } = startEngine(t)
  await say('note: buy milk')
  t.match(await answer(engine, await ask('delete note 1'), false, 'not today'), /not today/)
  t.equal(await say('list my notes'), '1. buy milk')
  t.equal(await answer(engine, await ask('delete note 1'), true), 'Note 1 is gone.')
  t.match(await say('list my notes'), /no notes/)
  t.equal(await answer(engine, await ask('delete note 1'), true), 'There is no note 1.')
})

t.test('no number is given twice: not of a note that was deleted, not after a restart', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'notes.db')}`
  const first = await createStore({ url })
  const before = startEngine(t, first)
  await before.say('note: buy milk')
  await before.say('note: buy bread')
  await answer(before.engine, await before.ask('delete note 2'), true)
  t.equal(await before.say('note: buy salt'), 'Noted as number 3: buy salt')
  for (const id of [1, 3]) await answer(before.engine, await before.ask(`delete note ${id}`), true)
  t.match(await before.say('list my notes'), /no notes/)
  await before.engine.close()
  await first.close()

  const second = await createStore({ url })
  const after = startEngine(t, second)
  t.equal(await after.say('note: buy tea'), 'Noted as number 4: buy tea')
  const more = await Promise.all(['x', 'y', 'z'].map((text) => after.say(`note: ${text}`)))
  const numbers = more.map((text) => Number(/\d+/.exec(text)?.[0]))
  t.same(new Set(numbers), new Set([5, 6, 7]), 'at the same time')
  t.equal(await after.say('note: buy tea', 'grace'), 'Noted as number 1: buy tea')
  await after.engine.close()
  await second.close()
})
