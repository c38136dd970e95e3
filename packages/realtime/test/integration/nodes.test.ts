import { createTestCluster } from '@svc/testing'
import t from 'tap'
import { buildRealtime } from '../helpers/build-realtime.ts'

const secret = 'a secret of 32 characters, or more'

t.test('a client secret of one node begins a call on another', async (t) => {
  const { join } = createTestCluster()
  const build = () => buildRealtime(t, { options: { secret }, engine: { stores: join().stores } })
  const [first, second] = [await build(), await build()]
  const response = await fetch(`http://${first.host}/v1/realtime/client_secrets`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ session: { model: 'voice' } })
  })
  const { value } = (await response.json()) as { value: string }
  const client = second.call('', { headers: { authorization: `Bearer ${value}` } })
  const { conversation } = await client.next('conversation.created')
  t.match(await first.runs.find(conversation.id), { kind: 'agent', name: 'voice' })
  t.match(await first.open(`?call=${conversation.id}`).next('error'), {
    error: { code: 'VOICE_ERR_CALL_ENDED' }
  })
})

t.test('several nodes need the same secret', async (t) => {
  const { stores } = createTestCluster().join()
  await t.rejects(buildRealtime(t, { engine: { stores } }), {
    code: 'RT_ERR_BAD_OPTION',
    message: /secret: several nodes/
  })
})
