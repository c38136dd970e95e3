import { randomBytes } from 'node:crypto'
import { isVoiceRunnable, VOICE_ERR_NOT_A_VOICE } from '@svc/registry'
import { scriptedRunnable, scriptedVoice } from '@svc/registry/testing'
import t from 'tap'
import { renameRunnable } from '../../src/runnables/define-runnable.ts'
import { callSurface, connect } from '../helpers/call-surface.ts'

t.test('a call is a run of the voice agent: outputs in order, audio as it was sent', async (t) => {
  const { start, runs } = callSurface(t, { runnables: [scriptedVoice()] })
  const call = await start()
  const connection = connect(call)
  const audio = randomBytes(48_000)
  for (let at = 0; at < audio.length; at += 960)
    call.receive({ type: 'audio', audio: audio.subarray(at, at + 960) })
  call.receive({ type: 'commit', itemId: 'first' })
  await connection.response()
  t.same(connection.audio, audio)
  t.same(
    connection.positions,
    [...connection.positions.keys()].map((index) => index + 1)
  )
  const types = connection.types().filter((type) => type !== 'audio')
  t.same(types, [
    ...['state', 'item', 'transcript', 'response.start', 'answer.start', 'text', 'answer.end', 'response.end']
  ])
  call.end('hangup')
  t.same(await connection.over(), { status: 'completed' })
  const run = await runs.get(call.runId)
  t.match(run, { kind: 'agent', name: 'voice', owner: 'alice', status: 'completed' })
})

t.test('only voice agents can be called; renamed ones are still voices', async (t) => {
  const { start } = callSurface(t, { runnables: [scriptedRunnable([], { name: 'chat' })] })
  await t.rejects(start({ name: 'chat' }), new VOICE_ERR_NOT_A_VOICE('agent', 'chat'))
  const renamed = renameRunnable(scriptedVoice(), 'other')
  t.ok(isVoiceRunnable(renamed))
  const other = callSurface(t, { runnables: [renamed] })
  const call = await other.start({ name: 'other' })
  const connection = connect(call)
  call.receive({ type: 'text', text: 'hello', respond: true })
  await connection.response()
  t.match(connection.outputs, [{ type: 'state' }, { type: 'item', text: 'hello' }])
})
