import { parseSessionKey, sessionKeyText, TurnKey, type SessionKey } from '@svc/contract'
import t from 'tap'

const KEYS: readonly SessionKey[] = [
  { registry: 'global', owner: 'ada', kind: 'agent', name: 'a', sessionId: 's' },
  { registry: 'own', owner: '', kind: 'team', name: 'b', sessionId: '12/3/x' },
  { registry: 'global', owner: '1/agent/a', kind: 'workflow', name: 'c', sessionId: '漢字\n' }
]

t.test('the text of a session key stands for it, and for no other', async (t) => {
  t.equal(sessionKeyText(KEYS[0]!), 'agent/a/1/sada')
  for (const key of KEYS) t.same(parseSessionKey(sessionKeyText(key)), key)
  t.equal(parseSessionKey('agent/a'), undefined)
})

t.test('the key of a turn has the same text', async (t) => {
  for (const key of KEYS) {
    const { registry, owner, kind, name, sessionId } = key
    const own = new TurnKey(registry, owner, kind, name, sessionId)
    for (let times = 0; times < 2; times++) t.equal(sessionKeyText(own), sessionKeyText(key))
    t.equal(
      sessionKeyText(new TurnKey(registry, owner, kind, name, 'another')),
      sessionKeyText({ ...key, sessionId: 'another' })
    )
  }
})
