import { createRunEngine, type Run, type RunEngine } from '@svc/registry'
import t from 'tap'
import { createNotes } from '../../src/agents/notes.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const notes = createNotes(createOfflineModel({ delay: 0 }))

function startEngine(t: { teardown(fn: () => unknown): unknown }) {
  const engine = createRunEngine()
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
