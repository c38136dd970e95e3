import { readdir, readFile } from 'node:fs/promises'
import { createEventBus, type RunResult } from '@svc/registry'
import { learnSkill, loadSkills, saveSkill } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

const written = {
  name: 'refund-orders',
  description: 'Refunds: "orders"',
  instructions: '# Steps\n\n1. Look up the order.'
}
const result: RunResult = {
  text: 'Refunded.',
  toolCalls: [
    { toolCallId: '1', toolName: 'look_up', args: { order: 7 }, result: { ok: true }, durationMs: 1 }
  ],
  usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
  structured: null,
  durationMs: 1,
  runId: 'r1',
  sessionId: 's',
  finishReason: 'stop'
}
const runnable = { kind: 'agent' as const, name: 'helper' }

t.test('a skill is learned from a run, saved, and loaded again', async (t) => {
  const folder = t.testdir({})
  const model = scriptedModel(`\`\`\`json\n${JSON.stringify(written)}\n\`\`\``)
  const events = createEventBus()
  const learned: object[] = []
  events.on('skill.learned', (event) => learned.push(event))
  const skill = await learnSkill({ input: 'Refund order 7', result, runnable, model, folder, events })
  t.match(skill, written)
  t.match(learned, [{ skill: 'refund-orders', runId: 'r1', name: 'helper', kind: 'agent' }])
  t.match(model.calls[0]?.responseFormat, { type: 'json' })
  t.match(JSON.stringify(model.calls[0]?.prompt), /Refund order 7.*look_up.*Refunded/)
  t.strictSame(await loadSkills(folder), [skill])
  t.match(await readFile(`${folder}/refund-orders/SKILL.md`, 'utf8'), /^---\nname: refund-orders\n/)
  t.strictSame(await readdir(folder), ['refund-orders'], 'nothing else is left')

  const { agent, model: next } = makeAgent('x', { skills: [] })
  agent.addSkill(skill)
  await agent.run('Hi', makeContext().context)
  t.match(next.calls[0]?.prompt[0]?.content, 'refund-orders')
})

t.test("the model's draft is checked before anything is saved", async (t) => {
  const folder = t.testdir({ skills: {} })
  const bad = [
    'no JSON',
    '[]',
    'null',
    JSON.stringify({ ...written, name: '../../evil' }),
    JSON.stringify({ name: 'x' })
  ]
  for (const answer of bad) {
    const learning = learnSkill({
      input: 'x',
      result,
      runnable,
      model: scriptedModel(answer),
      folder: `${folder}/skills`
    })
    await t.rejects(learning, { code: 'RUN_ERR_BAD_SKILL' }, answer)
  }
  t.strictSame(await readdir(folder), ['skills'])
  t.strictSame(await readdir(`${folder}/skills`), [])
  const failing = scriptedModel({ rejects: { statusCode: 401, message: 'sk-SECRET' } })
  await t.rejects(learnSkill({ input: 'x', result, runnable, model: failing }), {
    code: 'RUN_ERR_MODEL_AUTH'
  })
})

t.test('nothing is overwritten', async (t) => {
  const folder = t.testdir({})
  await saveSkill(written, folder)
  await t.rejects(saveSkill({ ...written, instructions: 'Other.' }, folder), {
    message: /it already exists/
  })
  t.match(await loadSkills(folder), [{ instructions: /Look up/ }])
  t.strictSame(await readdir(folder), ['refund-orders'])
})

t.test('without a folder the skill is only returned', async (t) => {
  const model = scriptedModel(JSON.stringify(written))
  const skill = await learnSkill({ input: 'x', result, runnable, model })
  t.equal(skill.folder, undefined)
})
