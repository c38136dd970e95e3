import { symlink, writeFile } from 'node:fs/promises'
import { defineSkill, loadSkills } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const refunds = defineSkill({
  name: 'refunds',
  description: 'Handles\n refunds',
  instructions: 'Ask for the receipt.'
})
const load = (args: object) => ({ toolCalls: [{ toolName: 'load_skill', args }] })

t.test('the prompt lists names and descriptions; instructions are loaded on demand', async (t) => {
  const { agent, model } = makeAgent([load({ name: 'refunds' }), 'Done.'], {
    skills: [refunds],
    instructions: 'Be brief.',
    approval: 'always'
  })
  const { context } = makeContext()
  const loaded: object[] = []
  context.events.on('skill.loaded', (event) => loaded.push(event))
  const run = await collect(agent.stream('A refund, please', context))
  const [system] = model.calls[0]!.prompt
  t.match(system?.content, /^Be brief\.\n\nSkills\..*load_skill.*\n- refunds: Handles refunds$/)
  t.notMatch(system?.content, 'receipt')
  t.match(run.ofType('tool.result'), [{ result: { name: 'refunds', instructions: 'Ask for the receipt.' } }])
  t.match(loaded, [{ skill: 'refunds', name: 'tester', kind: 'agent', runId: context.runId }])
  t.equal(run.text, 'Done.')
})

t.test('an agent describes its skills, but not the tool that loads them', async (t) => {
  const { agent } = makeAgent('x', { skills: [refunds] })
  const { skills, tools } = agent.describe()
  t.strictSame(skills, [{ name: 'refunds', description: 'Handles\n refunds' }])
  t.equal(tools, undefined)
})

t.test('an unknown skill', async (t) => {
  const { agent } = makeAgent([load({ name: '../x' }), load({}), 'Done.'], { skills: [refunds] })
  const run = await collect(agent.stream('Hi', makeContext().context))
  t.match(run.ofType('tool.error'), [
    { error: { code: 'RUN_ERR_TOOL_FAILED', message: /unknown skill "\.\.\/x"; known skills: refunds/ } },
    { error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }
  ])
})

t.test('only listed files of a skill can be loaded', async (t) => {
  const folder = t.testdir({
    'secret.txt': 'SECRET',
    x: {
      'SKILL.md': '---\nname: x\ndescription: d\n---\nSee a/b.md.',
      a: { 'b.md': 'More.' },
      'big.txt': 'x'.repeat(70_000),
      'swapped.txt': 'harmless'
    }
  })
  const skills = await loadSkills(folder)
  // Replaced by a link after it was listed.
  await symlink(`${folder}/secret.txt`, `${folder}/x/link.txt`)
  await writeFile(`${folder}/x/late.txt`, 'late')
  const tries = [
    'a/b.md',
    '../secret.txt',
    'a/../../secret.txt',
    `${folder}/secret.txt`,
    'link.txt',
    'late.txt',
    'big.txt'
  ]
  const { agent } = makeAgent(
    [...tries.map((file) => load({ name: 'x', file })), load({ name: 'x' }), 'Done.'],
    { skills }
  )
  const run = await collect(agent.stream('Hi', makeContext().context))
  t.match(run.ofType('tool.result'), [
    { result: { name: 'x', file: 'a/b.md', content: 'More.' } },
    { result: { instructions: 'See a/b.md.', files: ['a/b.md', 'big.txt', 'swapped.txt'] } }
  ])
  t.equal(run.ofType('tool.error').length, 6)
  t.notMatch(JSON.stringify(run.parts), 'SECRET')
})

t.test('a listed file that became a link is not read', async (t) => {
  const folder = t.testdir({
    'secret.txt': 'SECRET',
    x: { 'SKILL.md': '---\nname: x\ndescription: d\n---\nDo.' }
  })
  await symlink(`${folder}/secret.txt`, `${folder}/x/a.txt`)
  const skills = [
    defineSkill({ name: 'x', description: 'd', instructions: 'i', folder: `${folder}/x`, files: ['a.txt'] })
  ]
  const { agent } = makeAgent([load({ name: 'x', file: 'a.txt' }), 'Done.'], { skills })
  const run = await collect(agent.stream('Hi', makeContext().context))
  t.match(run.ofType('tool.error'), [{ error: { message: /is not a file of the skill/ } }])
  t.notMatch(JSON.stringify(run.parts), 'SECRET')
})

t.test('an added skill is available from the next run on', async (t) => {
  const { agent, model } = makeAgent('x', { skills: [] })
  await agent.run('Hi', makeContext().context)
  agent.addSkill(refunds)
  agent.addSkill({ ...refunds, description: 'New' })
  await agent.run('Hi', makeContext().context)
  t.equal(model.calls[0]!.prompt[0]?.role, 'user')
  t.match(model.calls[1]!.prompt[0]?.content, '- refunds: New')
  t.throws(() => makeAgent('x').agent.addSkill(refunds), { code: 'RUN_ERR_BAD_AGENT', message: /skills/ })
  t.throws(() => agent.addSkill({ ...refunds, name: '../x' }), { code: 'RUN_ERR_BAD_SKILL' })
})

t.test('bad skills are refused', async (t) => {
  const of = (skills: object[]) => () => makeAgent('x', { skills: skills as never })
  t.throws(of([refunds, refunds]), { code: 'RUN_ERR_BAD_AGENT', message: /duplicate skill "refunds"/ })
  t.throws(of([{}]), { code: 'RUN_ERR_BAD_SKILL' })
  t.throws(of([{ ...refunds, instructions: ' ' }]), { code: 'RUN_ERR_BAD_SKILL' })
})
