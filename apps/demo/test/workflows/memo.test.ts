import { createRunEngine, defineRunnable, type ApprovalAnswer } from '@svc/registry'
import t from 'tap'
import { createAssistant } from '../../src/agents/assistant.ts'
import { createNotes } from '../../src/agents/notes.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import { calculate } from '../../src/tools/calculate.ts'
import { createMemo } from '../../src/workflows/memo.ts'

const model = createOfflineModel({ delay: 0 })
const notes = createNotes(model)
const memo = createMemo(createAssistant(model, [calculate]))

t.test('keeps what was approved of, as it was or as it was edited, and nothing else', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const write = async (answer: ApprovalAnswer, userId = 'ada') => {
    const run = await engine.start(memo, 'What is 6 * 7?', { userId })
    for await (const part of run.parts()) {
      if (part.type !== 'tool.approval.request') continue
      t.match(part, { toolName: 'keep_memo', args: { text: /42/ }, source: ['review'] })
      await engine.answer(part.approvalId, answer)
    }
    return run.result()
  }
  const list = async (userId: string) =>
    (await (await engine.start(notes, 'list my notes', { userId })).result()).text

  t.match(await write({ approved: true }), { text: /^Kept as note 1: .*42/ })
  t.match(await write({ approved: true, args: { text: 'It is 42.' } }), {
    text: 'Kept as note 2: It is 42.'
  })
  await t.rejects(write({ approved: false, reason: 'too short' }), {
    code: 'RUN_ERR_APPROVAL_DENIED',
    message: /too short/
  })
  await t.rejects(write({ approved: true, args: { text: '' } }), { code: 'RUN_ERR_FAILED' })
  t.match(await list('ada'), /^1\. .*42.*\n2\. It is 42\.$/)
  t.match(await write({ approved: true }, 'bob'), { text: /^Kept as note 1/ }, 'each has notes of their own')
})

t.test('keeps no more than a note can hold', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const verbose = defineRunnable({ kind: 'agent', name: 'verbose', run: () => 'x'.repeat(5_000) })
  const run = await engine.start(createMemo(verbose), 'Go')
  for await (const part of run.parts())
    if (part.type === 'tool.approval.request') await engine.answer(part.approvalId, { approved: true })
  t.equal((await run.result()).text.length, 'Kept as note 1: '.length + 2_000)
})
