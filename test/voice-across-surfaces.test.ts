import { Agent, Team } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makePhone, pay, serveVoice, sessionOf, SocketCall } from './helpers/serve-voice.ts'
import type { Client, Served } from './helpers/serve.ts'

/** The parts that a socket gets of a run that it watches. */
async function watch(client: Client, runId: string, after = 0) {
  const parts: { type: string; [field: string]: unknown }[] = []
  const ended = Promise.withResolvers<void>()
  client.socket.onAny((event: string, payload: { part?: { type: string }; chunk?: string }) => {
    if (event === 'agent.part') parts.push(payload.part!)
    else if (event === 'agent.chunk') parts.push({ type: 'text', text: payload.chunk })
    else if (event === 'agent.done') ended.resolve()
  })
  await client.ask('run.watch', { runId, after, parts: true })
  return { parts, ended: ended.promise }
}

t.test('a member watches a call over another socket, from its beginning', async (t) => {
  const served = await serveVoice(t, { script: ['Noon.', 'Bye.'] })
  const call = await SocketCall.start(await served.connect())
  await call.say('What time is it?')
  const { parts, ended } = await watch(await served.connect(), call.runId)
  await call.say('Thanks')
  await call.hangUp()
  await ended
  const told = parts.filter(
    ({ type }) => type === 'voice.transcript' || type === 'voice.turn' || type === 'text'
  )
  t.match(told, [
    { type: 'voice.transcript', text: 'What time is it?', final: true },
    { type: 'text', text: 'Noon.' },
    { type: 'voice.turn', index: 0, status: 'completed', text: 'Noon.' },
    { type: 'voice.transcript', text: 'Thanks', final: true },
    { type: 'text', text: 'Bye.' },
    { type: 'voice.turn', index: 1, status: 'completed', text: 'Bye.' }
  ])
  const { body } = await served.ask('GET', `/runs/${call.runId}`)
  t.match(body, { status: 'completed', result: { text: 'Bye.' } })
})

const asksToPay = [{ toolCalls: [{ toolName: 'pay', toolCallId: 'p' }] }, 'It is paid.']

/** Answers an approval of a call over each surface. */
const answers: Record<
  string,
  (served: Served, runId: string, approvalId: string, approved: boolean) => Promise<unknown>
> = {
  http: (served, _runId, approvalId, approved) =>
    served.ask('POST', `/approvals/${approvalId}`, { approved }),
  socket: async (served, _runId, approvalId, approved) =>
    (await served.connect()).ask('approval.answer', { approvalId, approved }),
  a2a: (served, taskId, approvalId, approved) =>
    served.rpc('/a2a', 'message/send', {
      message: {
        role: 'user',
        messageId: approvalId,
        taskId,
        parts: [{ kind: 'data', data: { approvalId, approved } }]
      },
      configuration: { blocking: false }
    })
}

for (const [surface, answer] of Object.entries(answers))
  t.test(`an approval in the middle of a call is given over ${surface}`, async (t) => {
    const served = await serveVoice(t, { script: asksToPay, desk: { tools: [pay] } })
    const call = await SocketCall.start(await served.connect())
    await call.send('voice.text', { text: 'Pay', respond: true })
    const { approvalId } = await call.next('voice.approval')
    await answer(served, call.runId, approvalId, true)
    t.match(await call.untilText('It is paid.'), { status: 'completed' })
    t.match(await call.hangUp(), { status: 'completed' })
    const parts = await Array.fromAsync(served.app.runs.parts(call.runId))
    t.match(
      parts.filter(({ type }) => type.startsWith('tool.')),
      [
        { type: 'tool.call' },
        { type: 'tool.approval.request' },
        { type: 'tool.approval.response', approved: true },
        { type: 'tool.result', result: 'paid' }
      ]
    )
  })

t.test('a denial over another surface is what the model is given', async (t) => {
  const served = await serveVoice(t, {
    script: [asksToPay[0]!, 'Then not.'],
    desk: { tools: [pay] }
  })
  const call = await SocketCall.start(await served.connect())
  await call.send('voice.text', { text: 'Pay', respond: true })
  const { approvalId } = await call.next('voice.approval')
  await answers['a2a']!(served, call.runId, approvalId, false)
  await call.untilText('Then not.')
  await call.hangUp()
})

/** How a call ends, with the status of its run. */
const ENDINGS: Record<string, [end: (served: Served, call: SocketCall) => Promise<unknown>, status: string]> =
  {
    'a hang-up': [(_served, call) => call.hangUp(), 'completed'],
    'a cancel over HTTP': [(served, { runId }) => served.ask('POST', `/runs/${runId}/cancel`), 'canceled'],
    'a cancel over A2A': [
      (served, { runId }) => served.rpc('/a2a', 'tasks/cancel', { id: runId }),
      'canceled'
    ],
    'a shutdown': [({ app }) => app.close(), 'completed']
  }

for (const [name, [end, status]] of Object.entries(ENDINGS))
  t.test(`after ${name} the session has what was played`, async (t) => {
    const served = await serveVoice(t, { script: ['The time is noon in Rome.'] })
    const call = await SocketCall.start(await served.connect(), { sessionId: 's' })
    call.playsFor = 0
    await call.send('voice.text', { text: 'Time?', respond: true })
    const { itemId } = await call.next('voice.answer.end')
    await call.send('voice.played', { itemId, ms: 400 })
    await end(served, call)
    t.match(call.events.find(({ event }) => event === 'voice.done') ?? (await call.next('voice.done')), {
      status
    })
    t.match(await sessionOf(served, 's'), [
      { role: 'user', content: 'Time?' },
      { role: 'assistant', text: /^The\b(?!.*Rome)/, interrupted: true }
    ])
    t.match(await served.app.runs.get(call.runId), { status })
  })

t.test('a member that answers for its team is interrupted, and both keep what was played', async (t) => {
  const toClock = { toolCalls: [{ toolName: 'route', toolCallId: 'r', args: { member: 'clock' } }] }
  const served = await serveVoice(t, {
    add(registry) {
      const clock = new Agent({ name: 'clock', registry, model: scriptedModel('The crew says noon.') })
      const model = scriptedModel(toClock)
      const crew = new Team({ name: 'crew', registry, mode: 'route', model, members: [clock] })
      makePhone(registry, { name: 'crewphone', answer: crew })
    }
  })
  const call = await SocketCall.start(await served.connect(), { sessionId: 's', name: 'crewphone' })
  call.playsFor = 0
  await call.send('voice.text', { text: 'Time?', respond: true })
  const { itemId } = await call.next('voice.answer.end')
  await call.send('voice.played', { itemId, ms: 400 })
  await call.send('voice.cancel')
  await call.next('voice.response.end')
  await call.hangUp()
  const [, answer] = await sessionOf(served, 's', 'clock')
  t.match(answer, { text: /^The crew\b(?!.*noon)/, interrupted: true })
  t.match(await sessionOf(served, 's', 'crew', 'team'), [
    { role: 'user' },
    { role: 'assistant', toolCalls: [{ toolName: 'route' }] },
    { role: 'tool', result: (answer as { text: string }).text },
    { role: 'assistant', text: '', interrupted: true }
  ])
})
